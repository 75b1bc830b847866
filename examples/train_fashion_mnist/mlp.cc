#include "mlp.h"

#include <cmath>

using heddle::NDArray;

Mlp::Mlp(heddle::Device device) : device_(device) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].weight = NDArray({kSizes[i + 1], kSizes[i]}, device);
    layers_[i].bias = NDArray({kSizes[i + 1]}, device);
  }
}

NDArray Mlp::forward(const NDArray& images) {
  NDArray x = images.reshape({-1, kSizes[0]});
  for (int i = 0; i < kLayers; ++i) {
    layer(i).input = x;
    x = heddle::fully_connected(x, layer(i).weight, layer(i).bias);
    if (i + 1 < kLayers) x = heddle::relu(x);
  }
  return x;
}

void Mlp::start_backward(const NDArray& logits, const NDArray& labels) {
  grad_ = heddle::softmax_cross_entropy_backward(logits, labels);
}

void Mlp::backward(int index) {
  Layer& own = layer(index);
  const bool first = index == 0;
  const auto grads = heddle::fully_connected_backward(grad_, own.input, own.weight, !first);
  own.weight_grad = grads.weight;
  own.bias_grad = grads.bias;
  if (!first) grad_ = heddle::relu_backward(grads.data, own.input);
}

NDArray initial_weight(int layer) {
  const auto i = static_cast<std::size_t>(layer);
  const double stddev = std::sqrt(2.0 / static_cast<double>(Mlp::kSizes[i]));
  return heddle::random::normal(0, stddev, {Mlp::kSizes[i + 1], Mlp::kSizes[i]},
                                heddle::Device::cpu());
}

void scale_pixels(heddle::io::Sample& image) {
  for (float& pixel : image.data) pixel *= 1.0F / 255.0F;
}
