#include "tests/ops/sweep_cases.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace heddle::support {

namespace {

using Arrays = std::vector<NDArray>;
using Inputs = std::vector<Values>;

constexpr std::int64_t kCount = 1003;

double at(const Values& x, std::int64_t i) { return x[static_cast<std::size_t>(i)]; }

NDArray input(const Shape& shape, std::uint64_t seed, double scale = 3) {
  return array(spread(shape.size(), scale, seed), shape);
}

NDArray positive(const Shape& shape, std::uint64_t seed) { return abs(input(shape, seed)) + 0.01; }

SweepCase unary(const std::string& name, const std::function<NDArray(const NDArray&)>& run) {
  static const std::map<std::string, double (*)(double)> references = {
      {"negate", [](double x) { return -x; }},
      {"square", [](double x) { return x * x; }},
      {"abs", [](double x) { return std::abs(x); }},
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
  };
  const bool needs_positive = name == "log" || name == "sqrt";
  return {name,
          {needs_positive ? positive({kCount}, 1) : input({kCount}, 1)},
          [run](const Arrays& in) { return Arrays{run(in[0])}; },
          [f = references.at(name)](const Inputs& in) {
            Values out;
            for (const double x : in[0]) out.push_back(f(x));
            return out;
          }};
}

SweepCase binary(const std::string& name,
                 const std::function<NDArray(const NDArray&, const NDArray&)>& run) {
  static const std::map<std::string, double (*)(double, double)> references = {
      {"add", [](double a, double b) { return a + b; }},
      {"subtract", [](double a, double b) { return a - b; }},
      {"multiply", [](double a, double b) { return a * b; }},
      {"divide", [](double a, double b) { return a / b; }},
      {"maximum", [](double a, double b) { return std::max(a, b); }},
      {"minimum", [](double a, double b) { return std::min(a, b); }},
      {"relu_backward", [](double a, double b) { return b > 0 ? a : 0; }},
      {"sigmoid_backward", [](double a, double b) { return a * b * (1 - b); }},
      {"tanh_backward", [](double a, double b) { return a * (1 - b * b); }},
  };
  return {name,
          {input({kCount}, 1), name == "divide" ? positive({kCount}, 2) : input({kCount}, 2)},
          [run](const Arrays& in) { return Arrays{run(in[0], in[1])}; },
          [f = references.at(name)](const Inputs& in) {
            Values out;
            for (std::size_t i = 0; i < in[0].size(); ++i) out.push_back(f(in[0][i], in[1][i]));
            return out;
          }};
}

/// Rows of 37 of 19 x 37 numbers through `f`, whose results are joined.
template <class F>
auto by_rows(F f) {
  return [f](const Inputs& in) {
    Values out;
    for (auto row = in[0].begin(); row != in[0].end(); row += 37) {
      for (const double value : f(Values(row, row + 37))) out.push_back(value);
    }
    return out;
  };
}

double log_sum_exp(const Values& row) {
  double total = 0;
  for (const double x : row) total += std::exp(x);
  return std::log(total);
}

void add_reductions(std::vector<SweepCase>& cases) {
  const Arrays rows = {input({19, 37}, 1)};
  const auto add = [&](const char* name, auto run, auto reference) {
    cases.push_back({name, rows, [run](const Arrays& in) { return Arrays{run(in[0], 1, false)}; },
                     by_rows([reference](const Values& row) { return Values{reference(row)}; })});
  };
  const auto total = [](const Values& row) {
    double result = 0;
    for (const double x : row) result += x;
    return result;
  };
  add("sum", sum, total);
  add("mean", mean, [total](const Values& row) { return total(row) / 37; });
  add("max", max, [](const Values& row) { return *std::max_element(row.begin(), row.end()); });
  add("min", min, [](const Values& row) { return *std::min_element(row.begin(), row.end()); });
  add("argmax", argmax, [](const Values& row) {
    return static_cast<double>(std::max_element(row.begin(), row.end()) - row.begin());
  });
}

void add_softmax(std::vector<SweepCase>& cases) {
  const Arrays rows = {input({19, 37}, 1)};
  const auto log_softmax_of = [](const Values& row) {
    Values out;
    for (const double x : row) out.push_back(x - log_sum_exp(row));
    return out;
  };
  const auto softmax_of = [log_softmax_of](const Values& row) {
    Values out = log_softmax_of(row);
    for (double& x : out) x = std::exp(x);
    return out;
  };
  cases.push_back({"softmax", rows, [](const Arrays& in) { return Arrays{softmax(in[0])}; },
                   by_rows(softmax_of)});
  cases.push_back({"log_softmax", rows, [](const Arrays& in) { return Arrays{log_softmax(in[0])}; },
                   by_rows(log_softmax_of)});
}

void add_losses(std::vector<SweepCase>& cases) {
  const Arrays inputs = {input({4, 3}, 1), array({2, 0, 1, 1}, {4})};
  const auto row_of = [](const Inputs& in, std::int64_t row) {
    return Values(in[0].begin() + 3 * row, in[0].begin() + 3 * row + 3);
  };
  cases.push_back({"softmax_cross_entropy", inputs,
                   [](const Arrays& in) { return Arrays{softmax_cross_entropy(in[0], in[1])}; },
                   [row_of](const Inputs& in) {
                     double total = 0;
                     for (std::int64_t row = 0; row < 4; ++row) {
                       const Values x = row_of(in, row);
                       total += log_sum_exp(x) - at(x, std::lround(at(in[1], row)));
                     }
                     return Values{total / 4};
                   }});
  cases.push_back(
      {"softmax_cross_entropy_backward", inputs,
       [](const Arrays& in) { return Arrays{softmax_cross_entropy_backward(in[0], in[1])}; },
       [row_of](const Inputs& in) {
         Values out;
         for (std::int64_t row = 0; row < 4; ++row) {
           const Values x = row_of(in, row);
           for (std::int64_t i = 0; i < 3; ++i) {
             const double hot = std::lround(at(in[1], row)) == i ? 1 : 0;
             out.push_back((std::exp(at(x, i) - log_sum_exp(x)) - hot) / 4);
           }
         }
         return out;
       }});
}

/// (m, k) times (k, n), with the strides of both given.
Values product(const Values& a, const Values& b, std::int64_t m, std::int64_t n, std::int64_t k,
               std::pair<std::int64_t, std::int64_t> stride_a,
               std::pair<std::int64_t, std::int64_t> stride_b) {
  Values out;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double total = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        total += at(a, i * stride_a.first + p * stride_a.second) *
                 at(b, p * stride_b.first + j * stride_b.second);
      }
      out.push_back(total);
    }
  }
  return out;
}

void add_matrices(std::vector<SweepCase>& cases) {
  const NDArray x = input({8, 13}, 1, 1);
  const NDArray weight = input({11, 13}, 2, 1);
  const NDArray bias = input({11}, 3, 1);
  const NDArray grad = input({8, 11}, 4, 1);
  cases.push_back({"dot",
                   {x, weight},
                   [](const Arrays& in) { return Arrays{dot(in[0], in[1], false, true)}; },
                   [](const Inputs& in) {
                     return product(in[0], in[1], 8, 11, 13, {13, 1}, {1, 13});
                   }});
  cases.push_back({"fully_connected",
                   {x, weight, bias},
                   [](const Arrays& in) { return Arrays{fully_connected(in[0], in[1], in[2])}; },
                   [](const Inputs& in) {
                     Values out = product(in[0], in[1], 8, 11, 13, {13, 1}, {1, 13});
                     for (std::size_t i = 0; i < out.size(); ++i) out[i] += in[2][i % 11];
                     return out;
                   }});
  cases.push_back({"fully_connected_backward",
                   {grad, x, weight},
                   [](const Arrays& in) {
                     const auto gradients = fully_connected_backward(in[0], in[1], in[2]);
                     return Arrays{gradients.data, gradients.weight, gradients.bias};
                   },
                   [](const Inputs& in) {
                     Values out = product(in[0], in[2], 8, 13, 11, {11, 1}, {13, 1});
                     const Values ones(8, 1.0);
                     for (const Values& more : {product(in[0], in[1], 11, 13, 8, {1, 11}, {13, 1}),
                                                product(ones, in[0], 1, 11, 8, {8, 1}, {11, 1})}) {
                       out.insert(out.end(), more.begin(), more.end());
                     }
                     return out;
                   }});
}

void add_movers(std::vector<SweepCase>& cases) {
  const NDArray x = input({6, 5}, 1);
  cases.push_back({"transpose",
                   {x},
                   [](const Arrays& in) { return Arrays{transpose(in[0])}; },
                   [](const Inputs& in) {
                     Values out;
                     for (std::int64_t i = 0; i < 30; ++i) {
                       out.push_back(at(in[0], i % 6 * 5 + i / 6));
                     }
                     return out;
                   }});
  cases.push_back({"concat",
                   {x, input({2, 5}, 2)},
                   [](const Arrays& in) {
                     return Arrays{concat({in[0], in[1]})};
                   },
                   [](const Inputs& in) {
                     Values out = in[0];
                     out.insert(out.end(), in[1].begin(), in[1].end());
                     return out;
                   }});
  cases.push_back({"take",
                   {x, array({5, 0, 0}, {3})},
                   [](const Arrays& in) { return Arrays{take(in[0], in[1])}; },
                   [](const Inputs& in) {
                     Values out;
                     for (const double row : in[1]) {
                       for (std::int64_t i = 0; i < 5; ++i) {
                         out.push_back(at(in[0], 5 * std::lround(row) + i));
                       }
                     }
                     return out;
                   }});
  cases.push_back({"one_hot",
                   {array({1, 0, 3}, {3})},
                   [](const Arrays& in) { return Arrays{one_hot(in[0], 4)}; },
                   [](const Inputs&) { return Values{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}; }});
  cases.push_back(
      {"where",
       {array({1, 0, 1}, {3}), array({1, 2, 3}, {3}), array({4}, {1})},
       [](const Arrays& in) { return Arrays{where(in[0].astype(DType::kUInt8), in[1], in[2])}; },
       [](const Inputs&) {
         return Values{1, 4, 3};
       }});
}

/// The updates write their operands; each run gets copies.
void add_optimizers(std::vector<SweepCase>& cases) {
  const auto steps = [](auto step) {
    return [step](const Inputs& in) {
      Inputs state = in;
      for (std::size_t i = 0; i < in[0].size(); ++i) step(state, i);
      Values out = state[0];
      for (std::size_t k = 2; k < state.size(); ++k) {
        out.insert(out.end(), state[k].begin(), state[k].end());
      }
      return out;
    };
  };
  const NDArray w = input({kCount}, 1);
  const NDArray g = input({kCount}, 2);
  cases.push_back(
      {"sgd_update",
       {w, g},
       [](const Arrays& in) {
         const NDArray weight = in[0].copy();
         sgd_update(weight, in[1], 0.5, 0.25);
         return Arrays{weight};
       },
       steps([](Inputs& s, std::size_t i) { s[0][i] -= 0.5 * (s[1][i] + 0.25 * s[0][i]); })});
  cases.push_back({"sgd_mom_update",
                   {w, g, input({kCount}, 3)},
                   [](const Arrays& in) {
                     const Arrays state = {in[0].copy(), in[2].copy()};
                     sgd_mom_update(state[0], in[1], state[1], 0.5, 0.75, 0.25);
                     return state;
                   },
                   steps([](Inputs& s, std::size_t i) {
                     s[2][i] = 0.75 * s[2][i] - 0.5 * (s[1][i] + 0.25 * s[0][i]);
                     s[0][i] += s[2][i];
                   })});
  cases.push_back({"adam_update",
                   {w, g, input({kCount}, 3), positive({kCount}, 4)},
                   [](const Arrays& in) {
                     const Arrays state = {in[0].copy(), in[2].copy(), in[3].copy()};
                     adam_update(state[0], in[1], state[1], state[2], 0.5, 0.75, 0.875, 0.125, 0.25,
                                 2);
                     return state;
                   },
                   steps([](Inputs& s, std::size_t i) {
                     const double slope = s[1][i] + 0.25 * s[0][i];
                     s[2][i] = 0.75 * s[2][i] + 0.25 * slope;
                     s[3][i] = 0.875 * s[3][i] + 0.125 * slope * slope;
                     s[0][i] -= 0.5 * s[2][i] / (1 - 0.75 * 0.75) /
                                (std::sqrt(s[3][i] / (1 - 0.875 * 0.875)) + 0.125);
                   })});
}

}  // namespace

std::vector<SweepCase> sweep_cases() {
  std::vector<SweepCase> cases;
#define HEDDLE_UNARY(name, types, formula) \
  cases.push_back(unary(#name, [](const NDArray& x) { return name(x); }));
#define HEDDLE_BINARY(name, types, formula) \
  cases.push_back(binary(#name, [](const NDArray& a, const NDArray& b) { return name(a, b); }));
#define HEDDLE_BACKWARD(name, types, formula) HEDDLE_BINARY(name, types, formula)
#include "ops/ops.def"
  add_reductions(cases);
  add_softmax(cases);
  add_losses(cases);
  add_matrices(cases);
  add_movers(cases);
  add_optimizers(cases);
  return cases;
}

}  // namespace heddle::support
