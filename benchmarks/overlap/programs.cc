#include "overlap/programs.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bench::overlap {
namespace {

using heddle::Device;
using heddle::NDArray;

/// Elements of a side of what is computed with: 2 * 512^3 flops a product.
constexpr std::int64_t kSide = 512;

NDArray weights(Device device) {
  return NDArray::full({kSide, kSide}, 1.0F / static_cast<float>(kSide), device);
}

/// Chunks come from the host, are multiplied, and go back; each of the three has its own buffers.
void pipeline(int steps, const Waits& waits) {
  constexpr std::size_t kBuffers = 3;
  const Device gpu = Device::gpu(0);
  const NDArray weight = weights(gpu);
  std::vector<NDArray> from;
  std::vector<NDArray> there;
  std::vector<NDArray> back;
  for (std::size_t i = 0; i < kBuffers; ++i) {
    from.push_back(NDArray::ones({kSide, kSide}, Device::cpu_pinned()));
    there.emplace_back(heddle::Shape{kSide, kSide}, gpu);
    back.emplace_back(heddle::Shape{kSide, kSide}, Device::cpu_pinned());
  }
  for (int step = 0; step < steps; ++step) {
    const std::size_t i = static_cast<std::size_t>(step) % kBuffers;
    there[i].copy_from(from[i]);
    waits.after_operation(there[i]);
    const NDArray product = dot(there[i], weight);
    waits.after_operation(product);
    back[i].copy_from(product);
    waits.after_operation(back[i]);
    waits.after_step();
  }
}

/// Each of two devices computes on its interior while it gets the other's edge, and then updates
/// its own edge from that.
void halo(int steps, const Waits& waits) {
  constexpr std::size_t kDevices = 2;
  constexpr std::int64_t kEdge = 96 * 1024;
  std::vector<NDArray> weight;
  std::vector<NDArray> interior;
  std::vector<NDArray> edge;
  std::vector<NDArray> other;
  for (int i = 0; i < static_cast<int>(kDevices); ++i) {
    const Device gpu = Device::gpu(i);
    weight.push_back(weights(gpu));
    interior.push_back(NDArray::ones({kSide, kSide}, gpu));
    edge.push_back(NDArray::ones({kEdge}, gpu));
    other.emplace_back(heddle::Shape{kEdge}, gpu);
  }
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < kDevices; ++i) {
      other[i].copy_from(edge[1 - i]);
      waits.after_operation(other[i]);
    }
    for (std::size_t i = 0; i < kDevices; ++i) {
      interior[i] = dot(interior[i], weight[i]);
      waits.after_operation(interior[i]);
      edge[i] = maximum(edge[i], other[i]);
      waits.after_operation(edge[i]);
    }
    waits.after_step();
  }
}

/// Two fully connected layers on one device, with their gradients.
struct Network {
  static constexpr std::array<std::int64_t, 3> kSizes = {784, 256, 10};
  static constexpr std::int64_t kBatch = 1024;

  explicit Network(Device gpu)
      : images(NDArray::ones({kBatch, kSizes[0]}, Device::cpu_pinned())),
        labels(NDArray::zeros({kBatch}, gpu)) {
    for (std::size_t layer = 0; layer < 2; ++layer) {
      weight.push_back(NDArray::full({kSizes[layer + 1], kSizes[layer]}, 0.01F, gpu));
      bias.push_back(NDArray::zeros({kSizes[layer + 1]}, gpu));
    }
  }

  /// The gradients of the weights, first layer first.
  std::vector<NDArray> gradients(const Waits& waits) const {
    const auto pushed = [&waits](const NDArray& result) {
      waits.after_operation(result);
      return result;
    };
    const NDArray x = pushed(images.to(labels.device()));
    const NDArray hidden = pushed(relu(pushed(fully_connected(x, weight[0], bias[0]))));
    const NDArray logits = pushed(fully_connected(hidden, weight[1], bias[1]));
    const NDArray loss = pushed(softmax_cross_entropy_backward(logits, labels));
    const auto second = fully_connected_backward(loss, hidden, weight[1]);
    pushed(second.weight);
    const NDArray grad = pushed(relu_backward(second.data, hidden));
    const auto first = fully_connected_backward(grad, x, weight[0], /*need_data=*/false);
    return {pushed(first.weight), second.weight};
  }

  NDArray images, labels;
  std::vector<NDArray> weight, bias;
};

/// Data-parallel training of the network on two devices through a "device" store.
void network(int steps, const Waits& waits) {
  const std::vector<Network> networks = {Network(Device::gpu(0)), Network(Device::gpu(1))};
  const std::unique_ptr<heddle::KVStore> store = heddle::KVStore::create("device");
  store->set_optimizer(heddle::Sgd{.lr = 0.01});
  for (int layer = 0; layer < 2; ++layer) {
    store->init(layer, networks[0].weight[static_cast<std::size_t>(layer)]);
  }
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<NDArray>> gradients;
    for (const Network& replica : networks) gradients.push_back(replica.gradients(waits));
    for (int layer = 1; layer >= 0; --layer) {
      const auto index = static_cast<std::size_t>(layer);
      store->push(layer, {gradients[0][index], gradients[1][index]}, -layer);
      store->pull(layer, {networks[0].weight[index], networks[1].weight[index]}, -layer);
      waits.after_operation(networks[0].weight[index]);
      waits.after_operation(networks[1].weight[index]);
    }
    waits.after_step();
  }
}

constexpr std::array<Program, 3> kPrograms = {{
    {"pipeline", "copy in, multiply, copy out, with three buffers each", pipeline, 0.95},
    {"halo", "two devices compute while they exchange their edges", halo, 0.95},
    {"network", "a two-layer network trained on two devices through a store", network, 0},
}};

}  // namespace

std::span<const Program> programs() { return kPrograms; }

}  // namespace bench::overlap
