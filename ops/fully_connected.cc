#include <algorithm>
#include <cstring>
#include <type_traits>

#include "heddle/ops.h"

#include "ops/dispatch.h"
#include "ops/invoke.h"
#include "ops/kernels.h"
#include "ops/matmul.h"
#include "ops/small_batch.h"

namespace heddle {

namespace ops {

namespace {

constexpr const char* kForward = "fully_connected";
constexpr const char* kBackward = "fully_connected_backward";

/// The product adds to the bias, so the result is written twice instead of three times.
template <class T>
void forward_in_place(const MatmulSizes& sizes, const T* x, const T* weight, const T* bias,
                      T* out) {
  T* row = out;
  for (std::int64_t i = 0; i < sizes.m; ++i, row += sizes.n) std::copy_n(bias, sizes.n, row);
  matmul(sizes, x, weight, out, true);
}

template <class T>
void forward(const MatmulSizes& sizes, const void* x, const void* weight, const void* bias,
             void* out) {
  const auto run = [&](auto kernel) {
    kernel(sizes, static_cast<const T*>(x), static_cast<const T*>(weight),
           static_cast<const T*>(bias), static_cast<T*>(out));
  };
  if constexpr (std::is_same_v<T, float>) {
    if (is_small_batch(sizes)) return run(&small_batch_forward);
  }
  run(&forward_in_place<T>);
}

template <class T>
void backward_data(const MatmulSizes& sizes, const void* grad, const void* weight, void* data) {
  matmul(sizes, static_cast<const T*>(grad), static_cast<const T*>(weight), static_cast<T*>(data),
         false);
}

template <class T>
void backward_weight(const MatmulSizes& sizes, const void* grad, const void* x, void* weight,
                     void* bias) {
  const T* g = static_cast<const T*>(grad);
  vectorized(
      [](const T* rows, T* sums, std::int64_t outputs, std::int64_t count) HEDDLE_INLINE_LAMBDA {
        std::fill_n(sums, outputs, T{0});
        for (std::int64_t i = 0; i < count; ++i, rows += outputs) {
          HEDDLE_INDEPENDENT
          for (std::int64_t j = 0; j < outputs; ++j) sums[j] += rows[j];
        }
      },
      g, static_cast<T*>(bias), sizes.m, sizes.k);
  matmul(sizes, g, static_cast<const T*>(x), static_cast<T*>(weight), false);
}

}  // namespace

}  // namespace ops

NDArray fully_connected(const NDArray& x, const NDArray& weight, const NDArray& bias) {
  const Device device = ops::common_device(ops::kForward, {&x, &weight, &bias});
  const DType dtype = ops::common_dtype(ops::kForward, {&x, &weight, &bias});
  const auto pick = []<class T>(std::type_identity<T>) -> ops::ForwardKernel {
    return &ops::forward<T>;
  };
  const auto kernel = ops::kernel_for_device(
      ops::kForward, device, [&] { return ops::pick_floating(ops::kForward, dtype, pick); },
      [&] { return ops::cuda::fully_connected_kernel(dtype); });
  ops::expect_ndim(ops::kForward, "x", x, 2);
  ops::expect_ndim(ops::kForward, "weight", weight, 2);
  const ops::MatmulSizes sizes{
      .m = x.shape()[0], .n = weight.shape()[0], .k = x.shape()[1], .transpose_b = true};
  ops::expect_shape(ops::kForward, "weight", weight, {sizes.n, sizes.k});
  ops::expect_shape(ops::kForward, "bias", bias, {sizes.n});
  ops::expect_matmul_sizes(ops::kForward, sizes);
  NDArray out = ops::make_output({sizes.m, sizes.n}, device, dtype);
  ops::launch(ops::kForward, device, {x.var(), weight.var(), bias.var()}, {out.var()},
              ops::work_on({&x, &weight, &bias, &out}, ops::flops_of(sizes)),
              [kernel, sizes, x, weight, bias, out] {
                kernel(sizes, ops::const_address(x), ops::const_address(weight),
                       ops::const_address(bias), ops::address(out));
              });
  return out;
}

FullyConnectedGradients fully_connected_backward(const NDArray& grad, const NDArray& x,
                                                 const NDArray& weight, bool need_data) {
  const Device device = ops::common_device(ops::kBackward, {&grad, &x, &weight});
  const DType dtype = ops::common_dtype(ops::kBackward, {&grad, &x, &weight});
  const auto pick_data = []<class T>(std::type_identity<T>) -> ops::DotKernel {
    return &ops::backward_data<T>;
  };
  const auto data_kernel = ops::kernel_for_device(
      ops::kBackward, device, [&] { return ops::pick_floating(ops::kBackward, dtype, pick_data); },
      [&] { return ops::cuda::dot_kernel(dtype); });
  const auto pick_weight = []<class T>(std::type_identity<T>) -> ops::WeightKernel {
    return &ops::backward_weight<T>;
  };
  const auto weight_kernel = ops::kernel_for_device(
      ops::kBackward, device,
      [&] { return ops::pick_floating(ops::kBackward, dtype, pick_weight); },
      [&] { return ops::cuda::weight_gradient_kernel(dtype); });
  ops::expect_ndim(ops::kBackward, "x", x, 2);
  ops::expect_ndim(ops::kBackward, "weight", weight, 2);
  const std::int64_t rows = x.shape()[0];
  const std::int64_t outputs = weight.shape()[0];
  const std::int64_t inputs = x.shape()[1];
  ops::expect_shape(ops::kBackward, "weight", weight, {outputs, inputs});
  ops::expect_shape(ops::kBackward, "grad", grad, {rows, outputs});
  const ops::MatmulSizes data_sizes{.m = rows, .n = inputs, .k = outputs};
  const ops::MatmulSizes weight_sizes{.m = outputs, .n = inputs, .k = rows, .transpose_a = true};
  ops::expect_matmul_sizes(ops::kBackward, data_sizes);

  FullyConnectedGradients out;
  if (need_data) {  // first: the layer below waits for it
    out.data = ops::make_output(x.shape(), device, dtype);
    ops::launch("fully_connected_backward_data", device, {grad.var(), weight.var()},
                {out.data.var()},
                ops::work_on({&grad, &weight, &out.data}, ops::flops_of(data_sizes)),
                [kernel = data_kernel, data_sizes, grad, weight, data = out.data] {
                  kernel(data_sizes, ops::const_address(grad), ops::const_address(weight),
                         ops::address(data));
                });
  }
  out.weight = ops::make_output(weight.shape(), device, dtype);
  out.bias = ops::make_output({outputs}, device, dtype);
  ops::launch("fully_connected_backward_weight", device, {grad.var(), x.var()},
              {out.weight.var(), out.bias.var()},
              ops::work_on({&grad, &x, &out.weight}, ops::flops_of(weight_sizes)),
              [kernel = weight_kernel, weight_sizes, grad, x, weight_grad = out.weight,
               bias_grad = out.bias] {
                kernel(weight_sizes, ops::const_address(grad), ops::const_address(x),
                       ops::address(weight_grad), ops::address(bias_grad));
              });
  return out;
}

}  // namespace heddle
