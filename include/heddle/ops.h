#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/ndarray.h"
#include "heddle/scalar.h"

// Every function pushes its work to the default engine and returns at once. Arrays of one call lie
// on one device (the CPU's arrays, pinned or not, count as one); the result lies there too. A
// shape, type or device that does not fit is std::invalid_argument, thrown before anything is
// pushed; the text names the operator. What only the elements can show (a label out of range) is an
// OpError of the result.
//
// Types promote as in NumPy 2, a Scalar being weak. "Floating" functions turn integers into
// float64. float16 and bfloat16 are computed with as float32 and rounded at the end.

namespace heddle {

// Element by element.
NDArray negate(const NDArray& x);  ///< not for bool
NDArray square(const NDArray& x);
NDArray abs(const NDArray& x);
NDArray relu(const NDArray& x);  ///< max(x, 0); NaN stays NaN
// Floating.
NDArray exp(const NDArray& x);
NDArray log(const NDArray& x);
NDArray sqrt(const NDArray& x);
NDArray sigmoid(const NDArray& x);  ///< 1 / (1 + e^-x)
NDArray tanh(const NDArray& x);

// Element by element with broadcasting. + - * / are add, subtract, multiply, divide.
NDArray add(const NDArray& a, const NDArray& b);
NDArray add(const NDArray& a, Scalar b);
NDArray add(Scalar a, const NDArray& b);
NDArray subtract(const NDArray& a, const NDArray& b);  ///< not for bool
NDArray subtract(const NDArray& a, Scalar b);
NDArray subtract(Scalar a, const NDArray& b);
NDArray multiply(const NDArray& a, const NDArray& b);
NDArray multiply(const NDArray& a, Scalar b);
NDArray multiply(Scalar a, const NDArray& b);
NDArray divide(const NDArray& a, const NDArray& b);  ///< floating
NDArray divide(const NDArray& a, Scalar b);
NDArray divide(Scalar a, const NDArray& b);
NDArray maximum(const NDArray& a, const NDArray& b);  ///< NaN if either is
NDArray maximum(const NDArray& a, Scalar b);
NDArray maximum(Scalar a, const NDArray& b);
NDArray minimum(const NDArray& a, const NDArray& b);  ///< NaN if either is
NDArray minimum(const NDArray& a, Scalar b);
NDArray minimum(Scalar a, const NDArray& b);

/// a where `condition` is not zero, b elsewhere; the three broadcast. `condition` is of type bool,
/// int8 or uint8.
NDArray where(const NDArray& condition, const NDArray& a, const NDArray& b);

// Backward functions of element-wise ones, from the gradient of the result and the result. Shapes
// and floating types are equal.
NDArray relu_backward(const NDArray& grad, const NDArray& output);
NDArray sigmoid_backward(const NDArray& grad, const NDArray& output);
NDArray tanh_backward(const NDArray& grad, const NDArray& output);

// Reductions over one axis (negative: from the end) or over all elements. `keepdims` leaves the
// reduced axes with size 1.
/// Integers widen to int64, and wrap there.
NDArray sum(const NDArray& x, std::optional<int> axis = {}, bool keepdims = false);
/// Floating; NaN over nothing.
NDArray mean(const NDArray& x, std::optional<int> axis = {}, bool keepdims = false);
/// NaN if one is reduced over. No elements to choose from is std::invalid_argument.
NDArray max(const NDArray& x, std::optional<int> axis = {}, bool keepdims = false);
NDArray min(const NDArray& x, std::optional<int> axis = {}, bool keepdims = false);
/// int64 position of the first of the greatest values (of the first NaN if there is one). Without
/// an axis: the position in row-major order.
NDArray argmax(const NDArray& x, std::optional<int> axis = {}, bool keepdims = false);

/// Matrix product of float32 or float64 arrays: (m, k) and (k, n) make (m, n), (m, k) and (k) make
/// (m), (k) and (k) the scalar product. A matrix is transposed first if asked for.
NDArray dot(const NDArray& a, const NDArray& b, bool transpose_a = false, bool transpose_b = false);

/// Axis i of the result is axis axes[i] of `x`; without `axes`, their order is reversed. A copy.
NDArray transpose(const NDArray& x, const std::vector<int>& axes = {});

/// The arrays one after the other along `axis`; types and the other axes are equal.
NDArray concat(const std::vector<NDArray>& arrays, int axis = 0);

/// float32, shape (indices…, depth): 1 at each index, else 0. An index outside [0, depth) is an
/// OpError. `indices` are integers, or floating numbers without a fraction.
NDArray one_hot(const NDArray& indices, std::int64_t depth);

/// x[indices] along `axis`, whose place the axes of `indices` take. An index outside the axis is an
/// OpError; negative ones are outside. `indices` as in one_hot.
NDArray take(const NDArray& x, const NDArray& indices, int axis = 0);

// Floating, along the last axis.
NDArray softmax(const NDArray& x);
NDArray log_softmax(const NDArray& x);

/// x weight^T + bias, for x (rows, in), weight (out, in), bias (out), all float32 or all float64.
NDArray fully_connected(const NDArray& x, const NDArray& weight, const NDArray& bias);

struct FullyConnectedGradients {
  NDArray data;  ///< NDArray{} if it was not asked for
  NDArray weight;
  NDArray bias;
};

/// From `grad` (rows, out), the gradient of the result. Two operations that may overlap: one for
/// data, one for weight and bias. A first layer needs no data gradient.
FullyConnectedGradients fully_connected_backward(const NDArray& grad, const NDArray& x,
                                                 const NDArray& weight, bool need_data = true);

/// Mean over the rows of -log softmax(logits)[label]: a scalar. logits (rows, classes) are
/// floating, rows > 0; labels (rows) are integers, or floating numbers without a fraction. A label
/// outside [0, classes) is an OpError.
NDArray softmax_cross_entropy(const NDArray& logits, const NDArray& labels);
/// Its gradient with respect to `logits`.
NDArray softmax_cross_entropy_backward(const NDArray& logits, const NDArray& labels);

// Optimizer steps, in place, on float32 or float64 arrays of one shape, type and device. `w` is the
// weight, `g` its gradient, the others are state that starts as zeros.
/// w -= lr * (g + wd * w)
void sgd_update(const NDArray& w, const NDArray& g, double lr, double wd = 0);
/// m = momentum * m - lr * (g + wd * w); w += m
void sgd_mom_update(const NDArray& w, const NDArray& g, const NDArray& m, double lr,
                    double momentum, double wd = 0);
/// Adam with bias correction. g' = g + wd * w; mean and var are its decaying averages;
/// w -= lr * mean^ / (sqrt(var^) + eps). `step` counts from 1.
void adam_update(const NDArray& w, const NDArray& g, const NDArray& mean, const NDArray& var,
                 double lr, double beta1, double beta2, double eps, double wd, std::int64_t step);

}  // namespace heddle
