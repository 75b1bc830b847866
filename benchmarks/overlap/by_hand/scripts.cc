#include "overlap/by_hand/scripts.h"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace bench::overlap::by_hand {
namespace {

using heddle::Device;
using heddle::Lane;
using heddle::ops::MatmulSizes;

MatmulSizes square(const Sizes& sizes) {
  return {.m = sizes.side, .n = sizes.side, .k = sizes.side};
}

/// A stream each for both directions and for computing, and three slots for chunks on their way.
class Pipeline final : public Script {
 public:
  Pipeline(const Sizes& sizes, Machine& machine)
      : machine_(machine),
        product_(square(sizes)),
        copy_in_(machine.make_stream(Device::gpu(0), Lane::kCopyIn)),
        compute_(machine.make_stream(Device::gpu(0), Lane::kCompute)),
        copy_out_(machine.make_stream(Device::gpu(0), Lane::kCopyOut)),
        weight_(machine.make_buffer(Device::gpu(0), shifting_matrix(sizes))) {
    const std::vector<float> zeros(static_cast<std::size_t>(sizes.matrix()));
    for (std::int64_t i = 0; i < kChunks; ++i) {
      from_.push_back(machine.make_buffer(Device::cpu_pinned(), rising(sizes.matrix(), i)));
      back_.push_back(machine.make_buffer(Device::cpu_pinned(), zeros));
    }
    for (Slot& slot : slots_) {
      slot.there = machine.make_buffer(Device::gpu(0), zeros);
      slot.product = machine.make_buffer(Device::gpu(0), zeros);
      slot.arrived = machine.make_event(Device::gpu(0));
      slot.multiplied = machine.make_event(Device::gpu(0));
      slot.returned = machine.make_event(Device::gpu(0));
    }
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      const std::size_t chunk = static_cast<std::size_t>(step) % from_.size();
      const Slot& slot = slots_[static_cast<std::size_t>(step) % slots_.size()];
      copy_in_.wait(slot.multiplied);  // the slot's last chunk has been read
      copy_in_.copy(from_[chunk], slot.there);
      copy_in_.record(slot.arrived);

      compute_.wait(slot.arrived);
      compute_.wait(slot.returned);  // and so has its last product
      compute_.multiply(product_, slot.there, weight_, slot.product);
      compute_.record(slot.multiplied);

      copy_out_.wait(slot.multiplied);
      copy_out_.copy(slot.product, back_[chunk]);
      copy_out_.record(slot.returned);
    }
    machine_.synchronize();
  }

  std::vector<std::vector<float>> results() const override {
    std::vector<std::vector<float>> values;
    for (const Buffer& chunk : back_) values.push_back(machine_.read(chunk));
    return values;
  }

 private:
  struct Slot {
    Buffer there, product;
    Event arrived{}, multiplied{}, returned{};
  };

  Machine& machine_;
  const MatmulSizes product_;
  Stream& copy_in_;
  Stream& compute_;
  Stream& copy_out_;
  const Buffer weight_;
  std::vector<Buffer> from_, back_;  // chunks
  std::array<Slot, 3> slots_;
};

/// A stream each per GPU for what it computes and for what it gets.
class Halo final : public Script {
 public:
  Halo(const Sizes& sizes, Machine& machine) : machine_(machine), product_(square(sizes)) {
    const std::vector<float> zeros(static_cast<std::size_t>(sizes.matrix()));
    const std::int64_t edge = sizes.edge();
    for (int i = 0; i < 2; ++i) {
      const Device gpu = Device::gpu(i);
      Side& side = sides_[static_cast<std::size_t>(i)];
      side.compute = &machine.make_stream(gpu, Lane::kCompute);
      side.copy_in = &machine.make_stream(gpu, Lane::kCopyIn);
      side.weight = machine.make_buffer(gpu, shifting_matrix(sizes));
      side.interior = machine.make_buffer(gpu, rising(sizes.matrix(), i));
      side.next = machine.make_buffer(gpu, zeros);
      side.edge = machine.make_buffer(gpu, i == 0 ? rising(edge, 0) : falling(edge, 0));
      side.other = machine.make_buffer(gpu, std::span(zeros).first(static_cast<std::size_t>(edge)));
      side.least = machine.make_buffer(gpu, std::span(zeros).first(static_cast<std::size_t>(edge)));
      side.received = machine.make_event(gpu);
      side.updated = machine.make_event(gpu);
    }
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < sides_.size(); ++i) get_edge(sides_[i], sides_[1 - i]);
      for (std::size_t i = 0; i < sides_.size(); ++i) compute(sides_[i], sides_[1 - i]);
    }
    machine_.synchronize();
  }

  std::vector<std::vector<float>> results() const override {
    std::vector<std::vector<float>> values;
    for (const Side& side : sides_) {
      values.push_back(machine_.read(side.interior));
      values.push_back(machine_.read(side.edge));
    }
    return values;
  }

 private:
  struct Side {
    Stream* compute = nullptr;
    Stream* copy_in = nullptr;
    Buffer weight, interior, next, edge, other, least;
    Event received{}, updated{};
  };

  static void get_edge(const Side& side, const Side& from) {
    side.copy_in->wait(from.updated);
    side.copy_in->wait(side.updated);  // what came last has been read
    side.copy_in->copy(from.edge, side.other);
    side.copy_in->record(side.received);
  }

  void compute(Side& side, const Side& to) const {
    side.compute->multiply(product_, side.interior, side.weight, side.next);
    std::swap(side.interior, side.next);
    side.compute->wait(side.received);
    side.compute->wait(to.received);  // the edge has been read
    side.compute->combine(Combination::kMaximum, side.other, side.least, side.edge);
    side.compute->record(side.updated);
  }

  Machine& machine_;
  const MatmulSizes product_;
  std::array<Side, 2> sides_;
};

}  // namespace

std::unique_ptr<Script> make_pipeline(const Sizes& sizes, Machine& machine) {
  return std::make_unique<Pipeline>(sizes, machine);
}
std::unique_ptr<Script> make_halo(const Sizes& sizes, Machine& machine) {
  return std::make_unique<Halo>(sizes, machine);
}

}  // namespace bench::overlap::by_hand
