#include "serial_mlp.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <cblas.h>

namespace {

void multiply(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, std::size_t rows,
              std::size_t columns, std::size_t inner, const std::vector<float>& a,
              const std::vector<float>& b, std::vector<float>& result) {
  const auto dim = [](std::size_t n) { return static_cast<blasint>(n); };
  cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, dim(rows), dim(columns), dim(inner), 1.0F,
              a.data(), dim(transpose_a == CblasNoTrans ? inner : rows), b.data(),
              dim(transpose_b == CblasNoTrans ? columns : inner), 0.0F, result.data(),
              dim(columns));
}

void add_bias(std::size_t rows, const std::vector<float>& bias, std::vector<float>& result) {
  const std::size_t columns = bias.size();
  for (std::size_t r = 0; r < rows; ++r) {
    float* const row = result.data() + r * columns;
    for (std::size_t c = 0; c < columns; ++c) row[c] += bias[c];
  }
}

void add_bias_and_relu(std::size_t rows, const std::vector<float>& bias,
                       std::vector<float>& result) {
  const std::size_t columns = bias.size();
  for (std::size_t r = 0; r < rows; ++r) {
    float* const row = result.data() + r * columns;
    for (std::size_t c = 0; c < columns; ++c) row[c] = std::max(row[c] + bias[c], 0.0F);
  }
}

void sum_rows(std::size_t rows, const std::vector<float>& values, std::vector<float>& result) {
  const std::size_t columns = result.size();
  std::fill(result.begin(), result.end(), 0.0F);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* const row = values.data() + r * columns;
    for (std::size_t c = 0; c < columns; ++c) result[c] += row[c];
  }
}

void update(std::vector<float>& weight, const std::vector<float>& grad,
            std::vector<float>& velocity, float learning_rate, float momentum) {
  for (std::size_t i = 0; i < weight.size(); ++i) {
    velocity[i] = momentum * velocity[i] - learning_rate * grad[i];
    weight[i] += velocity[i];
  }
}

}  // namespace

SerialMlp::SerialMlp(std::size_t max_rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i <= kLayers; ++i) activations_[i].resize(max_rows * kSizes[i]);
  for (std::size_t i = 0; i < kLayers; ++i) {
    const std::size_t in = kSizes[i];
    const std::size_t out = kSizes[i + 1];
    grads_[i].resize(max_rows * out);
    Layer& layer = layers_[i];
    for (auto* matrix : {&layer.weight, &layer.weight_grad, &layer.weight_velocity}) {
      matrix->resize(out * in);
    }
    for (auto* vector : {&layer.bias, &layer.bias_grad, &layer.bias_velocity}) vector->resize(out);
    std::normal_distribution<float> normal(0.0F, std::sqrt(2.0F / static_cast<float>(in)));
    std::generate(layer.weight.begin(), layer.weight.end(), [&] { return normal(random); });
  }
}

void SerialMlp::forward(std::size_t rows) {
  for (std::size_t i = 0; i < kLayers; ++i) {
    multiply(CblasNoTrans, CblasTrans, rows, kSizes[i + 1], kSizes[i], activations_[i],
             layers_[i].weight, activations_[i + 1]);
    if (i + 1 < kLayers) {
      add_bias_and_relu(rows, layers_[i].bias, activations_[i + 1]);
    } else {
      add_bias(rows, layers_[i].bias, activations_[i + 1]);
    }
  }
}

double SerialMlp::loss_gradient(std::span<const std::uint8_t> labels) {
  const float scale = 1.0F / static_cast<float>(labels.size());
  double loss = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const float* const logits = activations_[kLayers].data() + r * kClasses;
    float* const grad = grads_[kLayers - 1].data() + r * kClasses;
    const float peak = *std::max_element(logits, logits + kClasses);
    float total = 0;
    for (std::size_t c = 0; c < kClasses; ++c) total += grad[c] = std::exp(logits[c] - peak);
    for (std::size_t c = 0; c < kClasses; ++c) grad[c] *= scale / total;
    grad[labels[r]] -= scale;
    loss += std::log(total) + peak - logits[labels[r]];
  }
  return loss;
}

void SerialMlp::backward(std::size_t rows) {
  for (std::size_t i = kLayers; i-- > 0;) {
    Layer& layer = layers_[i];
    multiply(CblasTrans, CblasNoTrans, kSizes[i + 1], kSizes[i], rows, grads_[i], activations_[i],
             layer.weight_grad);
    sum_rows(rows, grads_[i], layer.bias_grad);
    if (i == 0) break;
    multiply(CblasNoTrans, CblasNoTrans, rows, kSizes[i], kSizes[i + 1], grads_[i], layer.weight,
             grads_[i - 1]);
    const float* const activation = activations_[i].data();
    float* const grad = grads_[i - 1].data();
    for (std::size_t k = 0; k < rows * kSizes[i]; ++k) grad[k] = activation[k] > 0 ? grad[k] : 0;
  }
}

double SerialMlp::train(std::span<const std::uint8_t> labels, float learning_rate, float momentum) {
  forward(labels.size());
  const double loss = loss_gradient(labels);
  backward(labels.size());
  for (Layer& layer : layers_) {
    update(layer.weight, layer.weight_grad, layer.weight_velocity, learning_rate, momentum);
    update(layer.bias, layer.bias_grad, layer.bias_velocity, learning_rate, momentum);
  }
  return loss;
}

std::size_t SerialMlp::correct(std::span<const std::uint8_t> labels) {
  forward(labels.size());
  std::size_t result = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const float* const logits = activations_[kLayers].data() + r * kClasses;
    result += std::max_element(logits, logits + kClasses) - logits == labels[r] ? 1 : 0;
  }
  return result;
}
