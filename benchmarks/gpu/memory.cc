// How often CUDA is asked for memory while a step is done again and again, if its arrays have the
// same shapes each time, and if they have not; and how much more was ever reserved than was in use.

#include <cstddef>

#include <heddle/heddle.h>

#include "gpu/questions.h"

namespace bench::gpu {
namespace {

using heddle::Device;
using heddle::MemoryStatistics;
using heddle::NDArray;

/// Sizes of two layers without a bias.
struct Sizes {
  std::int64_t batch;
  std::int64_t in;
  std::int64_t hidden;
  std::int64_t out;
};
constexpr Sizes kUsual{.batch = 512, .in = 1024, .hidden = 2048, .out = 1024};
constexpr Sizes kQuick{.batch = 16, .in = 16, .hidden = 24, .out = 8};

/// -1, 0 and 1 in turn: what is computed of them is exact.
NDArray integers(std::int64_t rows, std::int64_t columns, std::int64_t first) {
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((static_cast<std::int64_t>(i / 7 * 3 + i) + first) % 3) - 1;
  }
  return NDArray::from(values, {rows, columns}, Device::cpu());
}

class Steps {
 public:
  explicit Steps(const Sizes& sizes)
      : sizes_(sizes),
        data_(integers(sizes.batch, sizes.in, 0)),
        first_(integers(sizes.in, sizes.hidden, 1)),
        second_(integers(sizes.hidden, sizes.out, 2)),
        data_on_gpu_(data_.to(Device::gpu(0))),
        first_on_gpu_(first_.to(Device::gpu(0))),
        second_on_gpu_(second_.to(Device::gpu(0))) {}

  /// Allocations by CUDA per step. Each step has as many rows as rows_of(its number) says.
  template <class RowsOf>
  double allocations(int steps, const RowsOf& rows_of) {
    const std::uint64_t before = statistics().misses;
    NDArray result;
    for (int i = 0; i < steps; ++i) {
      result = largest(data_on_gpu_.slice(0, rows_of(i)), first_on_gpu_, second_on_gpu_);
    }
    const auto value = result.item<float>();
    const double per_step = static_cast<double>(statistics().misses - before) / steps;
    const NDArray expected = largest(data_.slice(0, rows_of(steps - 1)), first_, second_);
    expect(value == expected.item<float>(), kHeddle, "result of a step");
    return per_step;
  }

  /// The same in each step.
  std::int64_t same_rows(int /*step*/) const { return sizes_.batch; }
  /// Others in each of 97 steps.
  std::int64_t other_rows(int step) const {
    return sizes_.batch / 4 + sizes_.batch * 3 / 4 * (step * 31 % 97) / 97;
  }

  static double reserved_over_live() {
    return static_cast<double>(statistics().peak_reserved_bytes) /
           static_cast<double>(statistics().peak_bytes);
  }

 private:
  static MemoryStatistics statistics() { return heddle::memory_statistics(Device::gpu(0)); }

  static NDArray largest(const NDArray& data, const NDArray& first, const NDArray& second) {
    const NDArray hidden = heddle::relu(heddle::dot(data, first));
    return heddle::max(heddle::dot(hidden, second) + 1.0F);
  }

  const Sizes sizes_;
  const NDArray data_;
  const NDArray first_;
  const NDArray second_;
  const NDArray data_on_gpu_;
  const NDArray first_on_gpu_;
  const NDArray second_on_gpu_;
};

}  // namespace

void memory(const Settings& settings, Sheet& sheet) {
  constexpr const char* kMetric = "allocations by CUDA per step";
  constexpr const char* kRatio = "peak reserved over live";
  const int steps = settings.quick ? 10 : 200;
  Steps all(settings.quick ? kQuick : kUsual);
  const auto same = [&] {
    return all.allocations(steps, [&](int step) { return all.same_rows(step); });
  };
  const auto other = [&] {
    return all.allocations(steps, [&](int step) { return all.other_rows(step); });
  };
  const std::string fixed = "steps of one shape";
  sheet.add(race(fixed, kMetric, {{kHeddle, same}}, settings.runs).front(), at_most(0));
  sheet.add({fixed, kHeddle, kRatio, {Steps::reserved_over_live()}});
  const std::string varying = "steps of varying shapes";
  sheet.add(race(varying, kMetric, {{kHeddle, other}}, settings.runs).front());
  sheet.add({varying, kHeddle, kRatio, {Steps::reserved_over_live()}});
}

}  // namespace bench::gpu
