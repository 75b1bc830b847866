#include "overlap/programs.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "overlap/by_hand/network.h"
#include "overlap/by_hand/scripts.h"
#include "overlap/network.h"

namespace bench::overlap {
namespace {

using heddle::Device;
using heddle::NDArray;

heddle::Shape square(const Sizes& sizes) { return {sizes.side, sizes.side}; }

NDArray shifting_matrix_on(Device device, const Sizes& sizes) {
  return NDArray::from(shifting_matrix(sizes), square(sizes), device);
}
NDArray rising_matrix_on(Device device, const Sizes& sizes, std::int64_t begin) {
  return NDArray::from(rising(sizes.matrix(), begin), square(sizes), device);
}

/// Chunks come from the host, are multiplied, and go back. There are buffers on the GPU for three
/// of them.
class Pipeline final : public Script {
 public:
  Pipeline(const Sizes& sizes, Waits waits)
      : waits_(waits), weight_(shifting_matrix_on(gpu_, sizes)) {
    for (std::int64_t i = 0; i < kChunks; ++i) {
      from_.push_back(rising_matrix_on(Device::cpu_pinned(), sizes, i));
      back_.push_back(NDArray::zeros(square(sizes), Device::cpu_pinned()));
    }
    for (int i = 0; i < 3; ++i) there_.emplace_back(square(sizes), gpu_);
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      const std::size_t chunk = static_cast<std::size_t>(step) % from_.size();
      NDArray& there = there_[static_cast<std::size_t>(step) % there_.size()];
      there.copy_from(from_[chunk]);
      waits_.after_operation(there);
      const NDArray product = dot(there, weight_);
      waits_.after_operation(product);
      back_[chunk].copy_from(product);
      waits_.after_operation(back_[chunk]);
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
  const Device gpu_ = Device::gpu(0);

  const Waits waits_;
  const NDArray weight_;
  std::vector<NDArray> from_, there_, back_;
};

/// Each of two devices computes on its interior while it gets the other's edge, and then makes its
/// own edge of that and of the least that there must be.
class Halo final : public Script {
 public:
  Halo(const Sizes& sizes, Waits waits) : waits_(waits) {
    const std::int64_t edge = sizes.edge();
    for (int i = 0; i < static_cast<int>(kDevices); ++i) {
      const Device gpu = Device::gpu(i);
      weight_.push_back(shifting_matrix_on(gpu, sizes));
      interior_.push_back(rising_matrix_on(gpu, sizes, i));
      edge_.push_back(NDArray::from(i == 0 ? rising(edge, 0) : falling(edge, 0), {edge}, gpu));
      other_.emplace_back(heddle::Shape{edge}, gpu);
      least_.push_back(NDArray::zeros({edge}, gpu));
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
        edge_[i] = maximum(other_[i], least_[i]);
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
  std::vector<NDArray> weight_, interior_, edge_, other_, least_;
};

template <class OnHeddle>
std::unique_ptr<Script> on_heddle(const Sizes& sizes, Waits waits) {
  return std::make_unique<OnHeddle>(sizes, waits);
}

template <int kSlices>
std::unique_ptr<Script> network_by_hand(const Sizes& sizes, by_hand::Machine& machine) {
  return by_hand::make_network(sizes, machine, kSlices);
}

template <int kSlices>
std::unique_ptr<Script> network(const Sizes& sizes, Waits waits) {
  return make_network(sizes, waits, kSlices);
}

constexpr std::array<Program, 4> kPrograms = {{
    {.name = "pipeline",
     .summary = "copy in, multiply, copy out, with three buffers on the GPU",
     .on_heddle = on_heddle<Pipeline>,
     .by_hand = by_hand::make_pipeline,
     .least_efficiency = 0.95},
    {.name = "halo",
     .summary = "two devices compute while they exchange their edges",
     .on_heddle = on_heddle<Halo>,
     .by_hand = by_hand::make_halo,
     .least_efficiency = 0.95},
    {.name = "network",
     .summary = "a two-layer network trained on two devices through a store",
     .on_heddle = network<1>,
     .by_hand = network_by_hand<1>,
     .least_efficiency = 0.75},
    {.name = "sliced network",
     .summary = "the same, its hidden layer in four slices that are pushed and pulled apart",
     .on_heddle = network<4>,
     .by_hand = network_by_hand<4>,
     .least_efficiency = 0.95},
}};

}  // namespace

std::span<const Program> programs() { return kPrograms; }

}  // namespace bench::overlap
