#pragma once

#include <array>
#include <cstdint>

#include <heddle/heddle.h>

/// One device's copy of the network 784-256-128-10: fully connected layers, ReLU between them.
///
/// Everything here is pushed to the engine and returns at once.
class Mlp {
 public:
  static constexpr std::array<std::int64_t, 4> kSizes = {784, 256, 128, 10};
  static constexpr int kLayers = kSizes.size() - 1;

  struct Layer {
    heddle::NDArray weight, bias;
    heddle::NDArray input;                   ///< of the latest forward()
    heddle::NDArray weight_grad, bias_grad;  ///< of the latest backward()
  };

  /// Weights and biases are not yet written.
  explicit Mlp(heddle::Device device);

  heddle::Device device() const { return device_; }
  Layer& layer(int index) { return layers_.at(static_cast<std::size_t>(index)); }

  /// The logits (rows, 10) of images (rows, …).
  heddle::NDArray forward(const heddle::NDArray& images);
  /// Follows forward(); the gradient of the mean over these rows goes to backward().
  void start_backward(const heddle::NDArray& logits, const heddle::NDArray& labels);
  /// The gradients of one layer; from the last layer to the first.
  void backward(int index);

 private:
  heddle::Device device_;
  std::array<Layer, kLayers> layers_;
  heddle::NDArray grad_;  // of the output of the layer whose backward() is next
};

/// He's initial weights of a layer, on the CPU, from its generator.
heddle::NDArray initial_weight(int layer);

/// What the network takes of an image: pixels / 255.
void scale_pixels(heddle::io::Sample& image);
