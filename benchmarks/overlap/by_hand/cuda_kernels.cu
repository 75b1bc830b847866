#include "engine/device/cuda_for_each.h"
#include "ops/cuda_row.h"
#include "ops/formulas.h"
#include "ops/optimizer_step.h"
#include "overlap/by_hand/cuda_kernels.h"
#include "overlap/by_hand/cuda_run.h"

namespace bench::overlap::by_hand {
namespace {

namespace device = heddle::device;
namespace ops = heddle::ops;

/// Calls body(i) for every i < n.
template <class Body>
void for_each(cudaStream_t stream, std::int64_t n, Body body) {
  cuda_run(stream, &device::cuda_for_each_kernel<Body>,
           device::cuda_blocks(n, device::kCudaThreads), device::kCudaThreads, n, body);
}

template <class Formula>
void combine(cudaStream_t stream, const Buffer& a, const Buffer& b, const Buffer& out) {
  for_each(stream, out.size, [x = a.data, y = b.data, to = out.data] __device__(std::int64_t i) {
    to[i] = Formula::apply(x[i], y[i]);
  });
}

}  // namespace

void launch_combine(cudaStream_t stream, Combination how, const Buffer& a, const Buffer& b,
                    const Buffer& out) {
  switch (how) {
    case Combination::kMaximum:
      return combine<ops::maximum_formula>(stream, a, b, out);
    case Combination::kSum:
      return combine<ops::add_formula>(stream, a, b, out);
    default:
      return combine<ops::relu_backward_formula>(stream, a, b, out);
  }
}

void launch_relu(cudaStream_t stream, const Buffer& x, const Buffer& out) {
  for_each(stream, out.size, [from = x.data, to = out.data] __device__(std::int64_t i) {
    to[i] = ops::relu_formula::apply(from[i]);
  });
}

void launch_rows_of(cudaStream_t stream, const Buffer& row, const Buffer& out) {
  for_each(stream, out.size,
           [from = row.data, columns = row.size, to = out.data] __device__(std::int64_t i) {
             to[i] = from[i % columns];
           });
}

void launch_sum_of_rows(cudaStream_t stream, const Buffer& x, const Buffer& out) {
  const std::int64_t columns = out.size;
  const std::int64_t rows = x.size / columns;
  for_each(stream, columns, [=, from = x.data, to = out.data] __device__(std::int64_t j) {
    float sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += from[i * columns + j];
    to[j] = sum;
  });
}

void launch_loss_gradient(cudaStream_t stream, const Buffer& logits, const Buffer& labels,
                          const Buffer& out) {
  const std::int64_t rows = labels.size;
  const std::int64_t classes = logits.size / rows;
  const float scale = 1.0F / static_cast<float>(rows);
  const auto body = [=, x = logits.data, label_of = labels.data, results = out.data] __device__(
                        std::int64_t row, int lane) {
    const float* const from = x + row * classes;
    const auto load = [=](std::int64_t i) { return from[i]; };
    const float greatest = ops::warp_reduce_row<ops::Max<float>>(load, classes, lane);
    const auto power = [=](std::int64_t i) { return ops::exponential(from[i] - greatest); };
    const auto sum =
        static_cast<float>(ops::warp_reduce_row<ops::Sum<float>>(power, classes, lane));
    const auto label = static_cast<std::int64_t>(label_of[row]);
    for (std::int64_t i = lane; i < classes; i += ops::kWarp) {
      const float share = power(i) / sum * scale;
      results[row * classes + i] = i == label ? share - scale : share;
    }
  };
  cuda_run(stream, &ops::cuda_rows_kernel<decltype(body)>,
           device::cuda_blocks(rows, ops::kRowsPerBlock), ops::kRowThreads, rows, body);
}

void launch_update(cudaStream_t stream, const Buffer& first, const Buffer& second,
                   const Buffer& weight, double lr) {
  const ops::SgdStep<float> step({.lr = lr});
  for_each(stream, weight.size,
           [step, a = first.data, b = second.data, w = weight.data] __device__(std::int64_t i) {
             step(w[i], a[i] + b[i], nullptr, nullptr, i);
           });
}

}  // namespace bench::overlap::by_hand
