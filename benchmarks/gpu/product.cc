// Products of square matrices of float32 by heddle, and by calls of cuBLAS. The elements are small
// integers, so that every sum is exact, whoever takes it in whatever order.

#include <algorithm>
#include <cstddef>
#include <random>

#include <heddle/heddle.h>

#include "gpu/by_hand/cuda_device.h"
#include "gpu/questions.h"
#include "overlap/by_hand/cuda_blas.h"

namespace bench::gpu {
namespace {

using heddle::Device;
using heddle::NDArray;

std::vector<float> random_matrix(std::int64_t side, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<float> values(static_cast<std::size_t>(side * side));
  for (float& value : values) value = static_cast<float>(random() % 5) - 2;
  return values;
}

/// The matrix times the vector.
std::vector<double> times(const std::vector<float>& matrix, const std::vector<double>& vector) {
  std::vector<double> result(vector.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::size_t j = 0; j < vector.size(); ++j) {
      result[i] += static_cast<double>(matrix[i * vector.size() + j]) * vector[j];
    }
  }
  return result;
}

class Matrices {
 public:
  Matrices(std::int64_t side, int repetitions)
      : side_(side),
        repetitions_(repetitions),
        a_(random_matrix(side, 1)),
        b_(random_matrix(side, 2)),
        x_(NDArray::from(a_, {side, side}, Device::gpu(0))),
        y_(NDArray::from(b_, {side, side}, Device::gpu(0))),
        a_by_hand_(a_),
        b_by_hand_(b_),
        c_by_hand_(a_.size() * sizeof(float)) {}

  // Each returns us per product.

  double on_heddle() {
    NDArray product;
    const double us = microseconds([&] {
      for (int i = 0; i < repetitions_; ++i) product = heddle::dot(x_, y_);
      product.wait_to_read();
    });
    product_ = product;
    return us / repetitions_;
  }

  double on_cublas() {
    const double us = microseconds([&] {
      for (int i = 0; i < repetitions_; ++i) {
        blas_.multiply({.m = side_, .n = side_, .k = side_}, a_by_hand_.floats(),
                       b_by_hand_.floats(), c_by_hand_.floats(), /*accumulate=*/false);
      }
      stream_.synchronize();
    });
    return us / repetitions_;
  }

  /// Of what was computed last.
  void verify() const {
    std::vector<double> vector(static_cast<std::size_t>(side_));
    for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = static_cast<double>(i % 7) - 3;
    const std::vector<double> expected = times(a_, times(b_, vector));
    expect(times(product_.to_vector<float>(), vector) == expected, kHeddle, "product");
    expect(times(c_by_hand_.to_floats(), vector) == expected, kByHand, "product");
  }

 private:
  const std::int64_t side_;
  const int repetitions_;
  const std::vector<float> a_;
  const std::vector<float> b_;
  const NDArray x_;
  const NDArray y_;
  NDArray product_;
  const by_hand::Memory a_by_hand_;
  const by_hand::Memory b_by_hand_;
  const by_hand::Memory c_by_hand_;
  const by_hand::Stream stream_;
  const overlap::by_hand::CuBlas blas_{stream_.handle()};
};

/// So many that a run takes about as long, whatever the size.
int repetitions_for(std::int64_t side) {
  return static_cast<int>(
      std::clamp<std::int64_t>((std::int64_t{1} << 40U) / (side * side * side), 10, 1000));
}

}  // namespace

void product(const Settings& settings, Sheet& sheet) {
  const std::vector<std::int64_t> sides =
      settings.quick ? std::vector<std::int64_t>{48} : std::vector<std::int64_t>{256, 1024, 4096};
  for (const std::int64_t side : sides) {
    Matrices matrices(side, settings.quick ? 3 : repetitions_for(side));
    const std::vector<Row> rows = race("product of side " + std::to_string(side), "us per product",
                                       {{kHeddle, [&] { return matrices.on_heddle(); }},
                                        {"cuBLAS by hand", [&] { return matrices.on_cublas(); }}},
                                       settings.runs);
    matrices.verify();
    sheet.add(rows[0]);
    sheet.add(rows[1]);
    sheet.add(ratio(rows[0], rows[1], "over by hand"), at_most(1.1));
  }
}

}  // namespace bench::gpu
