#pragma once

#include "ops/matmul.h"
#include "overlap/by_hand/machine.h"

// What a simulated GPU computes for Stream: the kernels that heddle's operators have there or,
// where those have no name outside, the same arithmetic. They run on the calling thread.

namespace bench::overlap::by_hand {

void fully_connected(const heddle::ops::MatmulSizes& sizes, const Buffer& x, const Buffer& weight,
                     const Buffer& bias, const Buffer& out);
void weight_gradient(const heddle::ops::MatmulSizes& sizes, const Buffer& grad, const Buffer& x,
                     const Buffer& weight, const Buffer& bias);
void relu(const Buffer& x, const Buffer& out);
void combine(Combination how, const Buffer& a, const Buffer& b, const Buffer& out);
void loss_gradient(const Buffer& logits, const Buffer& labels, const Buffer& out);
void update(const Buffer& first, const Buffer& second, const Buffer& weight, double lr);

}  // namespace bench::overlap::by_hand
