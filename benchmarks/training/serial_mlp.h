#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// The network of examples/train_fashion_mnist, 784-256-128-10 with ReLU, softmax cross-entropy and
/// momentum, the way one writes it by hand: matrix products by BLAS, everything else fused into
/// plain loops, all memory taken once.
class SerialMlp {
 public:
  static constexpr std::array<std::size_t, 4> kSizes = {784, 256, 128, 10};
  static constexpr std::size_t kLayers = kSizes.size() - 1;
  static constexpr std::size_t kClasses = kSizes.back();

  SerialMlp(std::size_t max_rows, std::uint64_t seed);

  /// Where the caller puts the pixels of up to max_rows images, 0..1, row after row.
  std::span<float> input() { return activations_[0]; }

  /// One step on the first `labels.size()` rows of input(). Returns the sum of their losses.
  double train(std::span<const std::uint8_t> labels, float learning_rate, float momentum);

  /// How many of the first `labels.size()` rows of input() are classified as their label says.
  std::size_t correct(std::span<const std::uint8_t> labels);

 private:
  struct Layer {
    std::vector<float> weight, weight_grad, weight_velocity;  // (out, in)
    std::vector<float> bias, bias_grad, bias_velocity;        // (out)
  };

  void forward(std::size_t rows);
  double loss_gradient(std::span<const std::uint8_t> labels);
  void backward(std::size_t rows);

  std::array<Layer, kLayers> layers_;
  std::array<std::vector<float>, kLayers + 1> activations_;  // (rows, size); the last: logits
  std::array<std::vector<float>, kLayers> grads_;            // of activations_[i + 1]
};
