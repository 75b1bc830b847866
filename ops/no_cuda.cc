#include "ops/kernels.h"

namespace heddle::ops::cuda {

#define HEDDLE_UNARY(name, types, formula) \
  UnaryKernel name##_kernel(DType /*dtype*/) { return nullptr; }
#define HEDDLE_BINARY(name, types, formula) \
  CudaBinaryKernel name##_kernel(DType /*dtype*/) { return {}; }
#define HEDDLE_BACKWARD(name, types, formula) HEDDLE_BINARY(name, types, formula)
#include "ops/ops.def"

ReduceKernel reduce_kernel(Reduction /*reduction*/, DType /*dtype*/) { return nullptr; }
RowsKernel softmax_kernel(DType /*dtype*/) { return nullptr; }
RowsKernel log_softmax_kernel(DType /*dtype*/) { return nullptr; }
LossKernel loss_kernel(DType /*dtype*/) { return nullptr; }
LossKernel loss_gradient_kernel(DType /*dtype*/) { return nullptr; }
DotKernel dot_kernel(DType /*dtype*/) { return nullptr; }
ForwardKernel fully_connected_kernel(DType /*dtype*/) { return nullptr; }
WeightKernel weight_gradient_kernel(DType /*dtype*/) { return nullptr; }
StepKernel step_kernel(StepRule /*rule*/, DType /*dtype*/) { return nullptr; }
MatrixKernel transpose_kernel(DType /*dtype*/) { return nullptr; }
PermuteKernel permute_kernel(DType /*dtype*/) { return nullptr; }
WhereKernel where_kernel(DType /*dtype*/) { return nullptr; }
TakeKernel take_kernel() { return nullptr; }
OneHotKernel one_hot_kernel() { return nullptr; }
CopyRowsKernel copy_rows_kernel() { return nullptr; }
DrawKernel uniform_kernel() { return nullptr; }
DrawKernel normal_kernel() { return nullptr; }
BernoulliKernel bernoulli_kernel() { return nullptr; }
IntegersKernel integers_kernel() { return nullptr; }

}  // namespace heddle::ops::cuda
