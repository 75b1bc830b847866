#include "overlap/by_hand/network.h"

#include <array>
#include <cstddef>
#include <vector>

#include "overlap/network.h"

namespace bench::overlap::by_hand {
namespace {

using heddle::Device;
using heddle::Lane;

/// A weight on one GPU, with what becomes of it.
struct Weight {
  Buffer value, gradient, bias, bias_gradient;
  Event computed{};  ///< the gradient, and with it all that the step reads the weight for
  Event updated{};   ///< the half of this GPU
  Event pulled{};    ///< the half of the other one, which then needs no more of this one's gradient
};

/// Some hidden units on one GPU.
struct Slice {
  std::array<Weight, 2> weight;  // of each layer
  Buffer hidden;
};

/// Images on their way: there are two batches of them, so that one can come while the other is in
/// use.
struct Images {
  Buffer there;
  Event arrived{}, used{};
};

/// Half of a buffer: that of GPU 0 or GPU 1.
Buffer half(const Buffer& whole, std::size_t gpu) {
  const std::int64_t size = whole.size / 2;
  return {whole.data + (gpu == 0 ? 0 : size), size, whole.device};
}

/// One of the two GPUs, with a stream each for images, for computing, and for what it gets from the
/// other one.
class Replica {
 public:
  Replica(const NetworkSizes& sizes, Machine& machine, std::size_t gpu)
      : sizes_(sizes),
        gpu_(gpu),
        copy_in_(machine.make_stream(device(), Lane::kCopyIn)),
        compute_(machine.make_stream(device(), Lane::kCompute)),
        comm_(machine.make_stream(device(), Lane::kComm)) {
    const auto zeros = [&](std::int64_t size) {
      return machine.make_buffer(device(), std::vector<float>(static_cast<std::size_t>(size)));
    };
    host_ = machine.make_buffer(Device::cpu_pinned(), images_of(sizes, static_cast<int>(gpu)));
    labels_ = machine.make_buffer(device(), labels_of(sizes));
    for (Images& images : images_) {
      images.there = zeros(sizes.batch * kInputs);
      images.arrived = machine.make_event(device());
      images.used = machine.make_event(device());
    }
    for (Buffer* const buffer : {&sum_, &grad_, &grad_of_sum_}) {
      *buffer = zeros(sizes.batch * sizes.units);
    }
    for (Buffer* const buffer : {&logits_, &part_, &loss_}) *buffer = zeros(sizes.batch * kOutputs);
    received_ = zeros(sizes.units * kInputs / 2);
    for (int i = 0; i < sizes.slices; ++i) {
      Slice& slice = slices_.emplace_back();
      slice.hidden = zeros(sizes.batch * sizes.units);
      for (std::size_t layer = 0; layer < 2; ++layer) {
        Weight& weight = slice.weight[layer];
        weight.value = machine.make_buffer(device(), weight_of(sizes, i, layer));
        weight.gradient = zeros(weight.value.size);
        weight.bias = zeros(sizes.outputs(layer));
        weight.bias_gradient = zeros(sizes.outputs(layer));
        for (Event* const event : {&weight.computed, &weight.updated, &weight.pulled}) {
          *event = machine.make_event(device());
        }
      }
    }
  }

  /// Enqueues what it computes in a step.
  void compute(int step) {
    const Images& images = images_[static_cast<std::size_t>(step) % images_.size()];
    copy_in_.wait(images.used);
    copy_in_.copy(host_, images.there);
    copy_in_.record(images.arrived);
    compute_.wait(images.arrived);
    forward(images.there);
    compute_.loss_gradient(logits_, labels_, loss_);
    for (const Slice& slice : slices_) backward(slice, images.there);
    compute_.record(images.used);
  }

  /// Enqueues the update of its half of a weight. Both have computed.
  void update(std::size_t slice, std::size_t layer, const Replica& other) {
    const Weight& mine = slices_[slice].weight[layer];
    const Weight& others = other.slices_[slice].weight[layer];
    const Buffer own = half(mine.gradient, gpu_);
    const Buffer received{received_.data, own.size, received_.device};
    comm_.wait(others.computed);
    comm_.copy(half(others.gradient, gpu_), received);
    comm_.wait(mine.computed);
    // In the order of the GPUs, on either.
    comm_.update(gpu_ == 0 ? own : received, gpu_ == 0 ? received : own, half(mine.value, gpu_),
                 kLearningRate);
    comm_.record(mine.updated);
  }

  /// Enqueues the copy of the half that the other one has updated.
  void pull(std::size_t slice, std::size_t layer, const Replica& other) {
    const Weight& mine = slices_[slice].weight[layer];
    const Weight& others = other.slices_[slice].weight[layer];
    comm_.wait(others.updated);
    comm_.copy(half(others.value, other.gpu_), half(mine.value, other.gpu_));
    comm_.record(mine.pulled);
  }

  const std::vector<Slice>& slices() const { return slices_; }

 private:
  Device device() const { return Device::gpu(static_cast<int>(gpu_)); }

  void forward(const Buffer& images) {
    const NetworkSizes& n = sizes_;
    for (const Slice& slice : slices_) {
      compute_.wait(slice.weight[0].pulled);
      compute_.fully_connected({.m = n.batch, .n = n.units, .k = kInputs, .transpose_b = true},
                               images, slice.weight[0].value, slice.weight[0].bias, sum_);
      compute_.relu(sum_, slice.hidden);
    }
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const Weight& weight = slices_[i].weight[1];
      compute_.wait(weight.pulled);
      compute_.fully_connected({.m = n.batch, .n = kOutputs, .k = n.units, .transpose_b = true},
                               slices_[i].hidden, weight.value, weight.bias,
                               i == 0 ? logits_ : part_);
      if (i > 0) compute_.combine(Combination::kSum, logits_, part_, logits_);
    }
  }

  void backward(const Slice& slice, const Buffer& images) {
    const NetworkSizes& n = sizes_;
    const Weight& first = slice.weight[0];
    const Weight& second = slice.weight[1];
    compute_.multiply({.m = n.batch, .n = n.units, .k = kOutputs}, loss_, second.value, grad_);
    compute_.weight_gradient({.m = kOutputs, .n = n.units, .k = n.batch, .transpose_a = true},
                             loss_, slice.hidden, second.gradient, second.bias_gradient);
    compute_.record(second.computed);
    compute_.combine(Combination::kReluBackward, grad_, slice.hidden, grad_of_sum_);
    compute_.weight_gradient({.m = n.units, .n = kInputs, .k = n.batch, .transpose_a = true},
                             grad_of_sum_, images, first.gradient, first.bias_gradient);
    compute_.record(first.computed);
  }

  const NetworkSizes sizes_;
  const std::size_t gpu_;
  Stream& copy_in_;
  Stream& compute_;
  Stream& comm_;
  Buffer host_, labels_;
  std::array<Images, 2> images_;
  Buffer sum_, grad_, grad_of_sum_, logits_, part_, loss_;  // used in the order of one stream
  Buffer received_;                                         // so is this
  std::vector<Slice> slices_;
};

class Network final : public Script {
 public:
  Network(const NetworkSizes& sizes, Machine& machine)
      : machine_(machine), replicas_{Replica(sizes, machine, 0), Replica(sizes, machine, 1)} {
    for (std::size_t slice = 0; slice < replicas_[0].slices().size(); ++slice) {
      for (const std::size_t layer : {1U, 0U}) keys_.push_back({slice, layer});
    }
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      for (Replica& replica : replicas_) replica.compute(step);
      // A weight comes back while the next one is on its way.
      for (std::size_t i = 0; i <= keys_.size(); ++i) {
        for (std::size_t gpu = 0; gpu < 2; ++gpu) {
          if (i < keys_.size()) replicas_[gpu].update(keys_[i][0], keys_[i][1], replicas_[1 - gpu]);
        }
        for (std::size_t gpu = 0; gpu < 2; ++gpu) {
          if (i > 0) replicas_[gpu].pull(keys_[i - 1][0], keys_[i - 1][1], replicas_[1 - gpu]);
        }
      }
    }
    machine_.synchronize();
  }

  std::vector<std::vector<float>> results() const override {
    std::vector<std::vector<float>> values;
    for (const Slice& slice : replicas_[0].slices()) {
      for (const Weight& weight : slice.weight) values.push_back(machine_.read(weight.value));
    }
    return values;
  }

 private:
  Machine& machine_;
  std::array<Replica, 2> replicas_;
  std::vector<std::array<std::size_t, 2>> keys_;  // slice and layer, in the order of the gradients
};

}  // namespace

std::unique_ptr<Script> make_network(const Sizes& sizes, Machine& machine, int slices) {
  return std::make_unique<Network>(NetworkSizes(sizes, slices), machine);
}

}  // namespace bench::overlap::by_hand
