#include "overlap/by_hand/simulated_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/optimizer.h"
#include "ops/reduce_row.h"
#include "ops/small_batch.h"

namespace bench::overlap::by_hand {
namespace {

namespace ops = heddle::ops;

constexpr std::size_t kFloat = ops::index_of(heddle::DType::kFloat32);

const ops::BinaryOp& operator_of(Combination how) {
  switch (how) {
    case Combination::kMaximum:
      return ops::maximum_op;
    case Combination::kSum:
      return ops::add_op;
    default:
      return ops::relu_backward_op;
  }
}

const std::byte* bytes(const Buffer& buffer) {
  return reinterpret_cast<const std::byte*>(buffer.data);
}

}  // namespace

void fully_connected(const ops::MatmulSizes& sizes, const Buffer& x, const Buffer& weight,
                     const Buffer& bias, const Buffer& out) {
  if (ops::is_small_batch(sizes)) {
    return ops::small_batch_forward(sizes, x.data, weight.data, bias.data, out.data);
  }
  for (std::int64_t row = 0; row < sizes.m; ++row) {
    std::copy_n(bias.data, sizes.n, out.data + row * sizes.n);
  }
  ops::matmul(sizes, x.data, weight.data, out.data, /*accumulate=*/true);
}

void weight_gradient(const ops::MatmulSizes& sizes, const Buffer& grad, const Buffer& x,
                     const Buffer& weight, const Buffer& bias) {
  std::fill_n(bias.data, sizes.m, 0.0F);
  for (std::int64_t row = 0; row < sizes.k; ++row) {
    const float* const values = grad.data + row * sizes.m;
    for (std::int64_t j = 0; j < sizes.m; ++j) bias.data[j] += values[j];
  }
  ops::matmul(sizes, grad.data, x.data, weight.data, /*accumulate=*/false);
}

void relu(const Buffer& x, const Buffer& out) {
  ops::relu_op.kernels[kFloat](x.data, out.data, out.size);
}

void combine(Combination how, const Buffer& a, const Buffer& b, const Buffer& out) {
  operator_of(how).kernels[kFloat](a.data, true, b.data, true, out.data, out.size);
}

void loss_gradient(const Buffer& logits, const Buffer& labels, const Buffer& out) {
  const std::int64_t rows = labels.size;
  const std::int64_t classes = logits.size / rows;
  const float scale = 1.0F / static_cast<float>(rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* const from = logits.data + row * classes;
    float* const to = out.data + row * classes;
    const auto greatest = ops::reduce_row<ops::Max<float>>(from, classes);
    for (std::int64_t i = 0; i < classes; ++i) to[i] = ops::exponential(from[i] - greatest);
    const auto sum = static_cast<float>(ops::reduce_row<ops::Sum<float>>(to, classes));
    for (std::int64_t i = 0; i < classes; ++i) to[i] = to[i] / sum * scale;
    to[static_cast<std::int64_t>(labels.data[row])] -= scale;
  }
}

void update(const Buffer& first, const Buffer& second, const Buffer& weight, double lr) {
  static const ops::StepKernel step = ops::step_kernel(
      "bench_overlap", ops::StepRule::kSgd, heddle::Device::cpu(), heddle::DType::kFloat32);
  const std::array gradients = {bytes(first), bytes(second)};
  step({.gradients = gradients,
        .weight = reinterpret_cast<std::byte*>(weight.data),
        .count = weight.size},
       {.lr = lr});
}

}  // namespace bench::overlap::by_hand
