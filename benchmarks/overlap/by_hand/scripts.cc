#include "overlap/by_hand/scripts.h"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace bench::overlap::by_hand {
namespace {

using heddle::Device;
using heddle::Lane;

/// A stream each for both directions and for computing, and three slots for chunks on their way.
class Pipeline final : public Script {
 public:
  explicit Pipeline(Machine& machine)
      : machine_(machine),
        copy_in_(machine.make_stream(Device::gpu(0), Lane::kCopyIn)),
        compute_(machine.make_stream(Device::gpu(0), Lane::kCompute)),
        copy_out_(machine.make_stream(Device::gpu(0), Lane::kCopyOut)),
        weight_(machine.make_buffer(Device::gpu(0), shifting_matrix())) {
    const std::vector<float> zeros(static_cast<std::size_t>(kSide * kSide));
    std::int64_t begin = 0;
    for (Slot& slot : slots_) {
      slot.from = machine.make_buffer(Device::cpu_pinned(), rising(kSide * kSide, begin++));
      slot.there = machine.make_buffer(Device::gpu(0), zeros);
      slot.product = machine.make_buffer(Device::gpu(0), zeros);
      slot.back = machine.make_buffer(Device::cpu_pinned(), zeros);
      slot.arrived = machine.make_event(Device::gpu(0));
      slot.multiplied = machine.make_event(Device::gpu(0));
      slot.returned = machine.make_event(Device::gpu(0));
    }
  }

  void run(int steps) override {
    for (int step = 0; step < steps; ++step) {
      const Slot& slot = slots_[static_cast<std::size_t>(step) % slots_.size()];
      copy_in_.wait(slot.multiplied);  // the slot's last chunk has been read
      copy_in_.copy(slot.from, slot.there);
      copy_in_.record(slot.arrived);

      compute_.wait(slot.arrived);
      compute_.wait(slot.returned);  // and so has its last product
      compute_.multiply(slot.there, weight_, slot.product);
      compute_.record(slot.multiplied);

      copy_out_.wait(slot.multiplied);
      copy_out_.copy(slot.product, slot.back);
      copy_out_.record(slot.returned);
    }
    machine_.synchronize();
  }

  std::vector<std::vector<float>> results() const override {
    std::vector<std::vector<float>> values;
    for (const Slot& slot : slots_) values.push_back(machine_.read(slot.back));
    return values;
  }

 private:
  struct Slot {
    Buffer from, there, product, back;
    Event arrived{}, multiplied{}, returned{};
  };

  Machine& machine_;
  Stream& copy_in_;
  Stream& compute_;
  Stream& copy_out_;
  const Buffer weight_;
  std::array<Slot, 3> slots_;
};

/// A stream each per GPU for what it computes and for what it gets.
class Halo final : public Script {
 public:
  explicit Halo(Machine& machine) : machine_(machine) {
    const std::vector<float> zeros(static_cast<std::size_t>(kSide * kSide));
    for (int i = 0; i < 2; ++i) {
      const Device gpu = Device::gpu(i);
      Side& side = sides_[static_cast<std::size_t>(i)];
      side.compute = &machine.make_stream(gpu, Lane::kCompute);
      side.copy_in = &machine.make_stream(gpu, Lane::kCopyIn);
      side.weight = machine.make_buffer(gpu, shifting_matrix());
      side.interior = machine.make_buffer(gpu, rising(kSide * kSide, i));
      side.next = machine.make_buffer(gpu, zeros);
      side.edge = machine.make_buffer(gpu, i == 0 ? rising(kEdge, 0) : falling(kEdge, 0));
      side.other = machine.make_buffer(gpu, std::span(zeros).first<kEdge>());
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
    Buffer weight, interior, next, edge, other;
    Event received{}, updated{};
  };

  static void get_edge(const Side& side, const Side& from) {
    side.copy_in->wait(from.updated);
    side.copy_in->wait(side.updated);  // what came last has been read
    side.copy_in->copy(from.edge, side.other);
    side.copy_in->record(side.received);
  }

  static void compute(Side& side, const Side& to) {
    side.compute->multiply(side.interior, side.weight, side.next);
    std::swap(side.interior, side.next);
    side.compute->wait(side.received);
    side.compute->wait(to.received);  // the edge has been read
    side.compute->maximum(side.edge, side.other, side.edge);
    side.compute->record(side.updated);
  }

  Machine& machine_;
  std::array<Side, 2> sides_;
};

}  // namespace

std::unique_ptr<Script> make_pipeline(Machine& machine) {
  return std::make_unique<Pipeline>(machine);
}
std::unique_ptr<Script> make_halo(Machine& machine) { return std::make_unique<Halo>(machine); }

}  // namespace bench::overlap::by_hand
