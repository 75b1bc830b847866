#include "engine/model_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::detail {
namespace {

using std::chrono::nanoseconds;

/// Start and end of each operation.
using Timeline = std::vector<std::pair<std::int64_t, std::int64_t>>;

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
  explicit Program(std::vector<device::LogicalGpu> gpus = two_gpus()) : gpus_(std::move(gpus)) {}

  using Variables = std::initializer_list<std::uint64_t>;

  std::uint64_t copy(Device from, Device to, std::uint64_t bytes, Variables reads,
                     Variables mutates, int priority = 0) {
    const Lane lane = to.is_gpu() ? Lane::kCopyIn : Lane::kCopyOut;
    ops_.push_back({.device = to.is_gpu() ? to : from, .lane = lane});
    ops_.back().cost = {.copies = {{bytes, from, to}}, .priority = priority};
    return finish(reads, mutates);
  }
  std::uint64_t compute(Device device, double flops, Variables reads, Variables mutates,
                        int priority = 0) {
    ops_.push_back({.device = device, .lane = Lane::kCompute});
    ops_.back().cost = {.flops = flops, .priority = priority};
    return finish(reads, mutates);
  }
  void wait(std::uint64_t variable, bool reads_too = false, std::uint32_t thread = 0) {
    waits_.push_back(
        {.thread = thread, .after = ops_.size(), .variable = variable, .reads_too = reads_too});
  }
  ModelOp& last() { return ops_.back(); }

  Timeline times() const {
    Timeline times;
    for (const ModelTime& time : model_times(ops_, waits_, gpus_)) {
      times.emplace_back(time.start, time.end);
    }
    return times;
  }
  /// The time of the longest chain.
  std::int64_t chain() const {
    std::int64_t longest = 0;
    for (const ModelTime& time : model_times(ops_, waits_, gpus_)) {
      longest = std::max(longest, time.chain);
    }
    return longest;
  }

 private:
  std::uint64_t finish(Variables reads, Variables mutates) {
    for (const std::uint64_t variable : mutates) ops_.back().accesses.push_back({variable, true});
    for (const std::uint64_t variable : reads) ops_.back().accesses.push_back({variable, false});
    return ops_.back().sequence = ops_.size();
  }

  std::vector<ModelOp> ops_;
  std::vector<ModelWait> waits_;
  std::vector<device::LogicalGpu> gpus_;
};

const Device kHost = Device::cpu();
Device gpu(int id) { return Device::gpu(id); }

TEST_CASE("a copy takes its link's latency and the time of its bytes") {
  Program program;
  program.copy(kHost, gpu(0), 1000, {}, {1});
  program.copy(gpu(0), kHost, 2000, {}, {2});
  program.copy(gpu(0), gpu(1), 1000, {}, {3});
  CHECK(program.times() == Timeline{{0, 1100}, {0, 2100}, {0, 500}});
}

TEST_CASE("computing takes the launch and the longer of arithmetic and memory") {
  Program program;
  program.compute(gpu(0), 1000, {}, {1});
  program.compute(gpu(1), 1000, {}, {2});
  program.last().cost.bytes = 8000;
  CHECK(program.times() == Timeline{{0, 1010}, {0, 2010}});
}

TEST_CASE("what says no cost takes no time and no place in a lane") {
  Program program;
  program.compute(gpu(0), 1000, {}, {1});
  program.compute(gpu(0), 0, {}, {2});
  CHECK(program.times()[1] == std::pair<std::int64_t, std::int64_t>(0, 0));
}

TEST_CASE("operations that conflict follow each other, readers overlap") {
  Program program;
  program.copy(kHost, gpu(0), 900, {}, {1});
  program.compute(gpu(0), 990, {1}, {2});
  program.copy(gpu(0), gpu(1), 2000, {1}, {3});
  program.copy(kHost, gpu(0), 900, {}, {1});
  CHECK(program.times() == Timeline{{0, 1000}, {1000, 2000}, {1000, 2000}, {2000, 3000}});
}

TEST_CASE("a lane runs one operation at a time, by priority and then by age") {
  Program program;
  program.compute(gpu(0), 990, {}, {1});
  program.compute(gpu(0), 990, {}, {2});
  program.compute(gpu(0), 990, {}, {3}, /*priority=*/1);
  program.compute(gpu(0), 990, {}, {4}, /*priority=*/1);
  CHECK(program.times() == Timeline{{2000, 3000}, {3000, 4000}, {0, 1000}, {1000, 2000}});
}

TEST_CASE("what an urgent operation waits for is as urgent") {
  Program program;
  program.compute(gpu(0), 990, {}, {1});
  program.compute(gpu(0), 990, {}, {2});
  program.compute(gpu(0), 990, {2}, {3}, /*priority=*/1);
  CHECK(program.times() == Timeline{{2000, 3000}, {0, 1000}, {1000, 2000}});
}

TEST_CASE("an operation is as urgent as what is pushed behind it from that push on") {
  Program program;
  program.copy(kHost, gpu(0), 900, {}, {1});
  program.compute(gpu(0), 1490, {}, {2});
  program.compute(gpu(0), 990, {}, {3});
  program.compute(gpu(0), 990, {}, {4});
  program.wait(1);
  program.compute(gpu(1), 990, {4}, {5}, /*priority=*/1);
  CHECK(program.times() ==
        Timeline{{0, 1000}, {0, 1500}, {2500, 3500}, {1500, 2500}, {2500, 3500}});
}

TEST_CASE("the end of a variable makes nothing more urgent") {
  Program program;
  program.compute(gpu(0), 990, {}, {1});
  program.compute(gpu(0), 990, {}, {2});
  program.compute(gpu(0), 0, {}, {2}, /*priority=*/1);
  program.last().cost.is_deletion = true;
  CHECK(program.times()[1] == std::pair<std::int64_t, std::int64_t>(1000, 2000));
}

TEST_CASE("several copies of one operation follow each other, each over its link") {
  Program program;
  program.copy(kHost, gpu(0), 0, {}, {1});
  program.last().cost.copies = {
      {4000, gpu(0), gpu(0)}, {900, kHost, gpu(0)}, {2000, gpu(1), gpu(0)}};
  program.copy(gpu(1), gpu(0), 5000, {}, {2});
  program.last().lane = Lane::kComm;
  program.copy(kHost, gpu(0), 900, {}, {3});
  program.last().lane = Lane::kComm;
  // In its own memory 10 ns and 4000 bytes at 4 GB/s; from the other GPU when that link is free.
  CHECK(program.times() == Timeline{{0, 3500}, {0, 2500}, {2500, 3500}});
}

TEST_CASE("the longest chain waits for no lane and no link") {
  Program program;
  program.compute(gpu(0), 990, {}, {1});
  program.compute(gpu(0), 990, {}, {2});
  program.copy(kHost, gpu(0), 900, {2}, {3});
  program.copy(kHost, gpu(0), 900, {}, {4});
  CHECK(program.chain() == 2000);
  program.wait(4);
  program.compute(gpu(0), 1990, {}, {5});
  CHECK(program.chain() == 3000);
}

TEST_CASE("copies of two lanes share their link") {
  Program program;
  program.copy(kHost, gpu(0), 900, {}, {1});
  program.copy(kHost, gpu(0), 900, {}, {2});
  program.last().lane = Lane::kComm;
  program.copy(kHost, gpu(1), 900, {}, {3});
  CHECK(program.times() == Timeline{{0, 1000}, {1000, 2000}, {0, 1000}});
}

TEST_CASE("copies to GPUs behind one switch take turns, each way") {
  std::vector<device::LogicalGpu> gpus = two_gpus();
  for (device::LogicalGpu& gpu : gpus) std::get<device::SimSpec>(gpu).port = 0;
  Program program(gpus);
  program.copy(kHost, gpu(0), 900, {}, {1});
  program.copy(kHost, gpu(1), 900, {}, {2});
  program.copy(gpu(1), kHost, 900, {}, {3});
  program.copy(gpu(0), gpu(1), 2000, {}, {4});
  program.last().lane = Lane::kComm;
  CHECK(program.times() == Timeline{{0, 1000}, {1000, 2000}, {0, 1000}, {0, 1000}});
}

TEST_CASE("operations of the CPU wait for no worker") {
  Program program;
  program.compute(kHost, 50e3, {}, {1});
  program.compute(kHost, 50e3, {}, {2});
  CHECK(program.times() == Timeline{{0, 1000}, {0, 1000}});
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
        Timeline{{0, 1000}, {1000, 3000}, {1000, 2000}, {3000, 4000}, {4000, 5000}, {0, 1000}});
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
  CHECK(program.times().back().second == 1000 + 2000 * kChunks + 1000);
}

TEST_CASE("an empty program has no times") { CHECK(Program().times().empty()); }

TEST_CASE("what takes longer than the clock can tell ends at the end of all time") {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  Program program;
  for (int i = 0; i < 3; ++i) {
    program.compute(Device::gpu(0), std::numeric_limits<double>::infinity(), {}, {1});
  }
  const Timeline times = program.times();
  CHECK(times[0].first == 0);
  CHECK(times[0].second > kEnd / 4);
  CHECK(times[2].second == kEnd);
  CHECK(program.chain() == kEnd);
}

}  // namespace
}  // namespace heddle::detail
