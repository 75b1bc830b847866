#include "ops/matmul.h"

#include <atomic>
#include <cstdint>

#include <catch2/catch.hpp>
#include <cblas.h>

#include "heddle/engine.h"

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::close;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

namespace {

Values product(const Values& a, const Values& b, std::int64_t m, std::int64_t n, std::int64_t k,
               bool transpose_a, bool transpose_b) {
  Values c;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double total = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        total += a[static_cast<std::size_t>(transpose_a ? p * m + i : i * k + p)] *
                 b[static_cast<std::size_t>(transpose_b ? j * k + p : p * n + j)];
      }
      c.push_back(total);
    }
  }
  return c;
}

}  // namespace

TEST_CASE("dot multiplies matrices in all four orders") {
  constexpr std::int64_t kM = 5, kN = 7, kK = 9;
  const Values a = spread(kM * kK, 2, 1);
  const Values b = spread(kK * kN, 2, 2);
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        CAPTURE(ta, tb, dtype_name(dtype));
        const NDArray left = array(a, ta ? Shape{kK, kM} : Shape{kM, kK}, dtype);
        const NDArray right = array(b, tb ? Shape{kN, kK} : Shape{kK, kN}, dtype);
        const NDArray result = dot(left, right, ta, tb);
        CHECK(result.shape() == Shape{kM, kN});
        CHECK(close(values(result), product(a, b, kM, kN, kK, ta, tb),
                    dtype == DType::kFloat32 ? 1e-5 : 1e-13));
      }
    }
  }
}

TEST_CASE("dot takes vectors as the second operand or as both") {
  const NDArray matrix = array({1, 2, 3, 4, 5, 6}, {2, 3});
  const NDArray vector = array({1, 10, 100}, {3});
  CHECK(values(dot(matrix, vector)) == Values{321, 654});
  CHECK(values(dot(matrix, array({1, 10}, {2}), true)) == Values{41, 52, 63});
  CHECK(dot(vector, vector).shape() == Shape{});
  CHECK(dot(vector, vector).item<float>() == 10101.0F);
}

TEST_CASE("dot over nothing is zero") {
  const NDArray result =
      dot(NDArray::ones({2, 0}, Device::cpu()), NDArray::ones({0, 3}, Device::cpu()));
  CHECK(values(result) == Values(6, 0.0));
}

TEST_CASE("inside an operation the library of matrix products uses one thread") {
  Engine& engine = Engine::get();
  const NDArray a = NDArray::ones({64, 64}, Device::cpu());
  const NDArray b = dot(a, a);
  std::atomic<int> threads = 0;
  engine.push([&threads] { threads = openblas_get_num_threads(); }, {b.var()}, {});
  engine.wait_for_all();
  CHECK(threads == 1);
}

TEST_CASE("dot refuses shapes that make no product") {
  const NDArray a = NDArray::ones({2, 3}, Device::cpu());
  const NDArray b = NDArray::ones({4, 5}, Device::cpu());
  CHECK(refusal([&] { dot(a, b); }) ==
        "[dot] shapes (2, 3) and (4, 5): expected (m, k) and (k, n), (m, k) and (k), or (k) and "
        "(k)");
  CHECK(refusal([&] { dot(a, a, true, true); }) ==
        "[dot] shapes (2, 3) transposed and (2, 3) transposed: expected (m, k) and (k, n), (m, k) "
        "and (k), or (k) and (k)");
  CHECK(refusal([&] { dot(NDArray::ones({2}, Device::cpu()), a); }) ==
        "[dot] shapes (2) and (2, 3): expected (m, k) and (k, n), (m, k) and (k), or (k) and (k)");
}

TEST_CASE("dot refuses types that it does not have") {
  const NDArray a = NDArray::ones({2, 2}, Device::cpu(), DType::kInt32);
  CHECK(refusal([&] { dot(a, a); }) == "[dot] type int32: expected float32 or float64");
  CHECK(refusal([&] {
          dot(a, NDArray::ones({2, 2}, Device::cpu()));
        }) == "[dot] types int32 and float32: expected equal ones; astype() converts");
}

}  // namespace heddle
