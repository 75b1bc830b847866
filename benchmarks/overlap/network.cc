#include "overlap/network.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench::overlap {
namespace {

using heddle::Device;
using heddle::NDArray;

/// What has a weight for each layer: first layer first.
using PerLayer = std::array<NDArray, 2>;

/// Some hidden units of the network, with all that leads to them and from them.
struct Slice {
  Slice(const NetworkSizes& sizes, int index, Device gpu) {
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const std::int64_t outputs = sizes.outputs(layer);
      weight[layer] =
          NDArray::from(weight_of(sizes, index, layer), {outputs, sizes.inputs(layer)}, gpu);
      bias[layer] = NDArray::zeros({outputs}, gpu);
    }
  }

  PerLayer weight, bias;
};

/// The network on one device, with its gradients.
struct Replica {
  Replica(const NetworkSizes& sizes, Device gpu)
      : images(NDArray::from(images_of(sizes, gpu.id()), {sizes.batch, kInputs},
                             Device::cpu_pinned())),
        labels(NDArray::from(labels_of(sizes), {sizes.batch}, gpu)) {
    for (int i = 0; i < sizes.slices; ++i) slices.emplace_back(sizes, i, gpu);
  }

  /// Of the weights of each slice.
  std::vector<PerLayer> gradients(const Waits& waits) const {
    const auto pushed = [&waits](const NDArray& result) {
      waits.after_operation(result);
      return result;
    };
    const NDArray x = pushed(images.to(labels.device()));
    std::vector<NDArray> hidden;
    for (const Slice& slice : slices) {
      hidden.push_back(pushed(relu(pushed(fully_connected(x, slice.weight[0], slice.bias[0])))));
    }
    NDArray logits;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Slice& slice = slices[i];
      const NDArray part = pushed(fully_connected(hidden[i], slice.weight[1], slice.bias[1]));
      logits = i == 0 ? part : pushed(logits + part);
    }
    const NDArray loss = pushed(softmax_cross_entropy_backward(logits, labels));
    std::vector<PerLayer> gradients;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const auto second = fully_connected_backward(loss, hidden[i], slices[i].weight[1]);
      pushed(second.weight);
      const NDArray grad = pushed(relu_backward(second.data, hidden[i]));
      const auto first =
          fully_connected_backward(grad, x, slices[i].weight[0], /*need_data=*/false);
      gradients.push_back({pushed(first.weight), second.weight});
    }
    return gradients;
  }

  NDArray images, labels;
  std::vector<Slice> slices;
};

class Network final : public Script {
 public:
  Network(const NetworkSizes& sizes, Waits waits)
      : waits_(waits),
        replicas_({Replica(sizes, Device::gpu(0)), Replica(sizes, Device::gpu(1))}),
        store_(heddle::KVStore::create("device")) {
    store_->set_optimizer(heddle::Sgd{.lr = kLearningRate});
    for (std::size_t i = 0; i < replicas_[0].slices.size(); ++i) {
      for (std::size_t layer = 0; layer < 2; ++layer) {
        store_->init(key_of(i, layer), replicas_[0].slices[i].weight[layer]);
      }
    }
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      std::vector<std::vector<PerLayer>> gradients;
      for (const Replica& replica : replicas_) gradients.push_back(replica.gradients(waits_));
      for (std::size_t i = 0; i < gradients[0].size(); ++i) {
        for (const std::size_t layer : {1U, 0U}) {
          update(i, layer, {gradients[0][i][layer], gradients[1][i][layer]});
        }
      }
      waits_.after_step();
    }
    heddle::Engine::get().wait_for_all();
  }

  std::vector<std::vector<float>> results() const override {
    std::vector<std::vector<float>> values;
    for (const Slice& slice : replicas_[0].slices) {
      for (const NDArray& weight : slice.weight) values.push_back(weight.to_vector<float>());
    }
    return values;
  }

 private:
  static int key_of(std::size_t slice, std::size_t layer) {
    return static_cast<int>(2 * slice + layer);
  }

  void update(std::size_t slice, std::size_t layer, const std::vector<NDArray>& gradients) const {
    const int key = key_of(slice, layer);
    const NDArray& here = replicas_[0].slices[slice].weight[layer];
    const NDArray& there = replicas_[1].slices[slice].weight[layer];
    // The next step needs the first slice first.
    store_->push(key, gradients, -key);
    store_->pull(key, {here, there}, -key);
    waits_.after_operation(here);
    waits_.after_operation(there);
  }

  const Waits waits_;
  const std::vector<Replica> replicas_;
  const std::unique_ptr<heddle::KVStore> store_;
};

}  // namespace

std::vector<float> images_of(const NetworkSizes& sizes, int device) {
  return mixed(sizes.batch * kInputs, 1.0F, static_cast<std::uint32_t>(1 + device));
}

std::vector<float> labels_of(const NetworkSizes& sizes) {
  std::vector<float> labels;
  for (std::int64_t i = 0; i < sizes.batch; ++i) labels.push_back(static_cast<float>(i % kOutputs));
  return labels;
}

std::vector<float> weight_of(const NetworkSizes& sizes, int slice, std::size_t layer) {
  const auto seed = static_cast<std::uint32_t>(100 + 2 * slice) + static_cast<std::uint32_t>(layer);
  return mixed(sizes.outputs(layer) * sizes.inputs(layer), 0.1F, seed);
}

std::unique_ptr<Script> make_network(const Sizes& sizes, Waits waits, int slices) {
  return std::make_unique<Network>(NetworkSizes(sizes, slices), waits);
}

}  // namespace bench::overlap
