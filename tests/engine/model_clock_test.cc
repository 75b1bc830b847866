#include "engine/model_clock.h"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::detail {
namespace {

using std::chrono::nanoseconds;

/// Two GPUs: 1 GB/s to and from the host with 100 ns latency, 2 GB/s between them, 1 GFLOP/s.
std::vector<device::LogicalGpu> two_gpus() {
  device::SimSpec spec;
  spec.host_to_device = spec.device_to_host = {1e9, nanoseconds(100)};
  spec.peer = {2e9, nanoseconds(0)};
  spec.compute = {1e9, 4e9, nanoseconds(10)};
  return {spec, spec};
}

/// Builds programs; variables are numbers from 1 on.
class Program {
 public:
  using Variables = std::initializer_list<std::uint64_t>;

  std::uint64_t copy(Device from, Device to, std::uint64_t bytes, Variables reads,
                     Variables mutates, int priority = 0) {
    const Lane lane = to.is_gpu() ? Lane::kCopyIn : Lane::kCopyOut;
    ops_.push_back({.device = to.is_gpu() ? to : from, .lane = lane, .priority = priority});
    ops_.back().cost = {.flops = 0, .bytes = bytes, .from = from, .to = to};
    return finish(reads, mutates);
  }
  std::uint64_t compute(Device device, double flops, Variables reads, Variables mutates,
                        int priority = 0) {
    ops_.push_back({.device = device, .lane = Lane::kCompute, .priority = priority});
    ops_.back().cost = {.flops = flops};
    return finish(reads, mutates);
  }
  void wait(std::uint64_t variable, bool reads_too = false, std::uint32_t thread = 0) {
    waits_.push_back(
        {.thread = thread, .after = ops_.size(), .variable = variable, .reads_too = reads_too});
  }
  ModelOp& last() { return ops_.back(); }

  std::vector<ModelTime> times() const { return model_times(ops_, waits_, two_gpus()); }

 private:
  std::uint64_t finish(Variables reads, Variables mutates) {
    for (const std::uint64_t variable : mutates) ops_.back().accesses.push_back({variable, true});
    for (const std::uint64_t variable : reads) ops_.back().accesses.push_back({variable, false});
    return ops_.back().sequence = ops_.size();
  }

  std::vector<ModelOp> ops_;
  std::vector<ModelWait> waits_;
};

const Device kHost = Device::cpu();
Device gpu(int id) { return Device::gpu(id); }

TEST_CASE("a copy takes its link's latency and the time of its bytes") {
  Program program;
  program.copy(kHost, gpu(0), 1000, {}, {1});
  program.copy(gpu(0), kHost, 2000, {}, {2});
  program.copy(gpu(0), gpu(1), 1000, {}, {3});
  CHECK(program.times() == std::vector<ModelTime>{{0, 1100}, {0, 2100}, {0, 500}});
}

TEST_CASE("computing takes the launch and the longer of arithmetic and memory") {
  Program program;
  program.compute(gpu(0), 1000, {}, {1});
  program.compute(gpu(1), 1000, {}, {2});
  program.last().cost.bytes = 8000;
  CHECK(program.times() == std::vector<ModelTime>{{0, 1010}, {0, 2010}});
}

TEST_CASE("what says no cost takes no time and no place in a lane") {
  Program program;
  program.compute(gpu(0), 1000, {}, {1});
  program.compute(gpu(0), 0, {}, {2});
  CHECK(program.times()[1] == ModelTime{0, 0});
}

TEST_CASE("operations that conflict follow each other, readers overlap") {
  Program program;
  program.copy(kHost, gpu(0), 900, {}, {1});
  program.compute(gpu(0), 990, {1}, {2});
  program.copy(gpu(0), gpu(1), 2000, {1}, {3});
  program.copy(kHost, gpu(0), 900, {}, {1});
  CHECK(program.times() ==
        std::vector<ModelTime>{{0, 1000}, {1000, 2000}, {1000, 2000}, {2000, 3000}});
}

TEST_CASE("a lane runs one operation at a time, by priority and then by age") {
  Program program;
  program.compute(gpu(0), 990, {}, {1});
  program.compute(gpu(0), 990, {}, {2});
  program.compute(gpu(0), 990, {}, {3}, /*priority=*/1);
  program.compute(gpu(0), 990, {}, {4}, /*priority=*/1);
  CHECK(program.times() ==
        std::vector<ModelTime>{{2000, 3000}, {3000, 4000}, {0, 1000}, {1000, 2000}});
}

TEST_CASE("copies of two lanes share their link") {
  Program program;
  program.copy(kHost, gpu(0), 900, {}, {1});
  program.copy(kHost, gpu(0), 900, {}, {2});
  program.last().lane = Lane::kComm;
  program.copy(kHost, gpu(1), 900, {}, {3});
  CHECK(program.times() == std::vector<ModelTime>{{0, 1000}, {1000, 2000}, {0, 1000}});
}

TEST_CASE("operations of the CPU wait for no worker") {
  Program program;
  program.compute(kHost, 50e3, {}, {1});
  program.compute(kHost, 50e3, {}, {2});
  CHECK(program.times() == std::vector<ModelTime>{{0, 1000}, {0, 1000}});
}

TEST_CASE("what a thread pushes after a wait comes after what it waited for") {
  Program program;
  program.compute(gpu(0), 990, {}, {1});
  program.compute(gpu(0), 1990, {1}, {2});
  program.wait(1);
  program.copy(kHost, gpu(0), 900, {}, {3});
  program.wait(1, /*reads_too=*/true);
  program.copy(gpu(0), kHost, 900, {}, {4});
  program.wait(0);
  program.compute(gpu(1), 990, {}, {5});
  program.copy(gpu(0), gpu(1), 2000, {}, {6});
  program.last().cost.thread = 1;
  CHECK(program.times() ==
        std::vector<ModelTime>{
            {0, 1000}, {1000, 3000}, {1000, 2000}, {3000, 4000}, {4000, 5000}, {0, 1000}});
}

TEST_CASE("a triple-buffered pipeline costs its slowest stage and the way in and out") {
  constexpr std::uint64_t kChunks = 20;
  Program program;
  for (std::uint64_t chunk = 0; chunk < kChunks; ++chunk) {
    const std::uint64_t in = 1 + chunk % 3;
    const std::uint64_t out = 4 + chunk % 3;
    program.copy(kHost, gpu(0), 900, {}, {in});
    program.compute(gpu(0), 1990, {in}, {out});
    program.copy(gpu(0), kHost, 900, {out}, {});
  }
  CHECK(program.times().back().end == 1000 + 2000 * kChunks + 1000);
}

TEST_CASE("an empty program has no times") { CHECK(Program().times().empty()); }

}  // namespace
}  // namespace heddle::detail
