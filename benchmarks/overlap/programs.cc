#include "overlap/programs.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "overlap/by_hand/scripts.h"

namespace bench::overlap {
namespace {

using heddle::Device;
using heddle::NDArray;

NDArray matrix(const std::vector<float>& values, Device device) {
  return NDArray::from(values, {kSide, kSide}, device);
}

/// Chunks come from the host, are multiplied, and go back; each of the three has its own buffers.
class Pipeline final : public Script {
 public:
  explicit Pipeline(Waits waits) : waits_(waits), weight_(matrix(shifting_matrix(), gpu_)) {
    for (std::size_t i = 0; i < kBuffers; ++i) {
      const auto begin = static_cast<std::int64_t>(i);
      from_.push_back(matrix(rising(kSide * kSide, begin), Device::cpu_pinned()));
      there_.emplace_back(heddle::Shape{kSide, kSide}, gpu_);
      back_.push_back(NDArray::zeros({kSide, kSide}, Device::cpu_pinned()));
    }
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      const std::size_t i = static_cast<std::size_t>(step) % kBuffers;
      there_[i].copy_from(from_[i]);
      waits_.after_operation(there_[i]);
      const NDArray product = dot(there_[i], weight_);
      waits_.after_operation(product);
      back_[i].copy_from(product);
      waits_.after_operation(back_[i]);
      waits_.after_step();
    }
    heddle::Engine::get().wait_for_all();
  }

  std::vector<std::vector<float>> results() const override {
    std::vector<std::vector<float>> values;
    for (const NDArray& chunk : back_) values.push_back(chunk.to_vector<float>());
    return values;
  }

 private:
  static constexpr std::size_t kBuffers = 3;
  const Device gpu_ = Device::gpu(0);

  const Waits waits_;
  const NDArray weight_;
  std::vector<NDArray> from_, there_, back_;
};

/// Each of two devices computes on its interior while it gets the other's edge, and then updates
/// its own edge from that.
class Halo final : public Script {
 public:
  explicit Halo(Waits waits) : waits_(waits) {
    for (int i = 0; i < static_cast<int>(kDevices); ++i) {
      const Device gpu = Device::gpu(i);
      weight_.push_back(matrix(shifting_matrix(), gpu));
      interior_.push_back(matrix(rising(kSide * kSide, i), gpu));
      edge_.push_back(NDArray::from(i == 0 ? rising(kEdge, 0) : falling(kEdge, 0), {kEdge}, gpu));
      other_.emplace_back(heddle::Shape{kEdge}, gpu);
    }
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < kDevices; ++i) {
        other_[i].copy_from(edge_[1 - i]);
        waits_.after_operation(other_[i]);
      }
      for (std::size_t i = 0; i < kDevices; ++i) {
        interior_[i] = dot(interior_[i], weight_[i]);
        waits_.after_operation(interior_[i]);
        edge_[i] = maximum(edge_[i], other_[i]);
        waits_.after_operation(edge_[i]);
      }
      waits_.after_step();
    }
    heddle::Engine::get().wait_for_all();
  }

  std::vector<std::vector<float>> results() const override {
    std::vector<std::vector<float>> values;
    for (std::size_t i = 0; i < kDevices; ++i) {
      values.push_back(interior_[i].to_vector<float>());
      values.push_back(edge_[i].to_vector<float>());
    }
    return values;
  }

 private:
  static constexpr std::size_t kDevices = 2;

  const Waits waits_;
  std::vector<NDArray> weight_, interior_, edge_, other_;
};

/// Two fully connected layers on one device, with their gradients.
struct Replica {
  static constexpr std::array<std::int64_t, 3> kSizes = {784, 256, 10};
  static constexpr std::int64_t kBatch = 1024;

  explicit Replica(Device gpu)
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
class Network final : public Script {
 public:
  explicit Network(Waits waits)
      : waits_(waits),
        replicas_({Replica(Device::gpu(0)), Replica(Device::gpu(1))}),
        store_(heddle::KVStore::create("device")) {
    store_->set_optimizer(heddle::Sgd{.lr = 0.01});
    for (int layer = 0; layer < 2; ++layer) {
      store_->init(layer, replicas_[0].weight[static_cast<std::size_t>(layer)]);
    }
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      std::vector<std::vector<NDArray>> gradients;
      for (const Replica& replica : replicas_) gradients.push_back(replica.gradients(waits_));
      for (int layer = 1; layer >= 0; --layer) {
        const auto index = static_cast<std::size_t>(layer);
        store_->push(layer, {gradients[0][index], gradients[1][index]}, -layer);
        store_->pull(layer, {replicas_[0].weight[index], replicas_[1].weight[index]}, -layer);
        waits_.after_operation(replicas_[0].weight[index]);
        waits_.after_operation(replicas_[1].weight[index]);
      }
      waits_.after_step();
    }
    heddle::Engine::get().wait_for_all();
  }

  std::vector<std::vector<float>> results() const override {
    std::vector<std::vector<float>> values;
    for (const NDArray& weight : replicas_[0].weight) values.push_back(weight.to_vector<float>());
    return values;
  }

 private:
  const Waits waits_;
  const std::vector<Replica> replicas_;
  const std::unique_ptr<heddle::KVStore> store_;
};

template <class OnHeddle>
std::unique_ptr<Script> on_heddle(Waits waits) {
  return std::make_unique<OnHeddle>(waits);
}

constexpr std::array<Program, 3> kPrograms = {{
    {.name = "pipeline",
     .summary = "copy in, multiply, copy out, with three buffers each",
     .on_heddle = on_heddle<Pipeline>,
     .by_hand = by_hand::make_pipeline,
     .least_efficiency = 0.95},
    {.name = "halo",
     .summary = "two devices compute while they exchange their edges",
     .on_heddle = on_heddle<Halo>,
     .by_hand = by_hand::make_halo,
     .least_efficiency = 0.95},
    {.name = "network",
     .summary = "a two-layer network trained on two devices through a store; not by hand",
     .on_heddle = on_heddle<Network>,
     .by_hand = nullptr,
     .least_efficiency = 0},
}};

}  // namespace

std::span<const Program> programs() { return kPrograms; }

}  // namespace bench::overlap
