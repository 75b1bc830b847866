#include "engine/device/sim_faults.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "engine/device/sim_device.h"
#include "engine/device/sim_stream.h"
#include "tests/engine/device/stream_fixture.h"

namespace heddle::device {
namespace {

using Catch::Matchers::Contains;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// Work that says how it has ended, in that order: "ran", "failed: TEXT", "finished".
class Watched {
 public:
  Work work() {
    return {.run = [](void* self) { to(self).say("ran"); },
            .finished = [](void* self) { to(self).say("finished"); },
            .argument = this,
            .failed = [](void* self,
                         std::exception_ptr error) { to(self).say("failed: " + describe(error)); }};
  }
  const std::vector<std::string>& said() const { return said_; }
  bool failed() const { return said_.size() == 3; }
  bool on_one_thread() const { return threads_.size() == 1; }

 private:
  static Watched& to(void* self) { return *static_cast<Watched*>(self); }
  void say(std::string what) {
    said_.push_back(std::move(what));
    threads_.insert(std::this_thread::get_id());
  }

  std::vector<std::string> said_;
  std::set<std::thread::id> threads_;
};

/// How many of the allocations from 1 to `count` fail, those of one size outside of operations.
std::vector<int> refused(SimFaults& faults, int count) {
  std::vector<int> numbers;
  for (int i = 1; i <= count; ++i) {
    try {
      faults.allocate(64);
    } catch (const OutOfMemory&) {
      numbers.push_back(i);
    }
  }
  return numbers;
}

TEST_CASE("each Nth allocation finds no memory and says which one it was") {
  SimFaults faults(2, {.fail_alloc = 3}, 0);
  CHECK(refused(faults, 8) == std::vector<int>{3, 6});
  CHECK_THROWS_WITH(faults.allocate(64), Contains("[gpu(2)] out of memory") &&
                                             Contains("injected") && Contains("allocation 9") &&
                                             Contains("64 bytes"));
}

TEST_CASE("an operation that was refused memory gets none, however often it asks") {
  SimFaults faults(0, {.fail_alloc = 2}, 0);
  Engine engine({.kind = EngineKind::kNaive});
  std::vector<int> of_first;
  std::vector<int> of_second;
  engine.push([&] { of_first = refused(faults, 6); }, {}, {});
  engine.push([&] { of_second = refused(faults, 1); }, {}, {});
  CHECK(of_first == std::vector<int>{2, 3, 4, 5, 6});
  CHECK(of_second.empty());
}

TEST_CASE("operations of two engines are not taken for one") {
  SimFaults faults(0, {.fail_alloc = 2}, 0);
  std::size_t failures = 0;
  for (int i = 0; i < 10; ++i) {
    Engine engine({.kind = EngineKind::kNaive});
    engine.push([&] { failures += refused(faults, 1).size(); }, {}, {});
  }
  CHECK(failures == 5);
}

TEST_CASE("each Nth launch fails by its number, behind its run and on the same thread") {
  const Lane lane = GENERATE(Lane::kCompute, Lane::kCopyIn);
  ThreadExecutor executor(2);
  SimFaults faults(1, {.fail_launch = 4}, 0);
  SimStream stream(lane, executor, &faults);
  std::array<Watched, 11> watched;
  for (Watched& each : watched) stream.issue(each.work(), {});
  drain(stream);
  for (std::size_t i = 0; i < watched.size(); ++i) {
    CHECK(watched[i].failed() == (i == 3 || i == 7));
    CHECK(watched[i].on_one_thread());
  }
  CHECK(watched[7].said() ==
        std::vector<std::string>{"ran", "failed: [gpu(1)] injected fault: launch 8 failed",
                                 "finished"});
}

TEST_CASE("the streams of a device count its launches together") {
  ThreadExecutor executor(1);
  SimFaults faults(0, {.fail_launch = 3}, 0);
  SimStream one(Lane::kCompute, executor, &faults);
  SimStream other(Lane::kCopyOut, executor, &faults);
  std::array<Watched, 6> watched;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    (i % 2 == 0 ? one : other).issue(watched[i].work(), {});
  }
  drain(one);
  drain(other);
  for (std::size_t i = 0; i < watched.size(); ++i) CHECK(watched[i].failed() == (i % 3 == 2));
}

TEST_CASE("what waits for a launch that failed goes on") {
  ThreadExecutor executor(1);
  SimFaults faults(0, {.fail_launch = 1}, 0);
  SimStream failing(Lane::kCompute, executor, &faults);
  SimStream healthy(Lane::kCopyIn, executor);
  Watched lost;
  Watched waiting;
  const Token token = failing.issue(lost.work(), {});
  healthy.issue(waiting.work(), std::array{token});
  drain(healthy);
  drain(failing);
  CHECK(lost.failed());
  CHECK_FALSE(waiting.failed());
}

TEST_CASE("from its Nth launch on a device is lost, and memory cannot be had or touched") {
  ThreadExecutor executor(1);
  SimSpec spec;
  spec.faults.lost_after = 3;
  const auto links = std::make_shared<SimLinks>(std::vector<LogicalGpu>(2, spec));
  SimDevice gpu(1, spec, links);
  SimDevice other(0, SimSpec{}, links);
  void* const block = gpu.allocate(64);
  gpu.open(block, 64);
  const auto stream = gpu.make_stream(Lane::kCompute, executor);
  std::array<Watched, 5> watched;
  for (Watched& each : watched) stream->issue(each.work(), {});
  drain(*stream);
  for (std::size_t i = 0; i < watched.size(); ++i) CHECK(watched[i].failed() == (i >= 2));
  CHECK_THAT(watched[4].said()[1], Contains("[gpu(1)] the simulated GPU is lost from launch 3 on"));
  std::array<char, 64> host{};
  CHECK_THROWS_AS(gpu.allocate(64), DeviceError);
  CHECK_THROWS_AS(gpu.open(block, 64), DeviceError);
  CHECK_THROWS_AS(gpu.copy(host.data(), Device::cpu(), block, Device::gpu(1), 64), DeviceError);
  CHECK_NOTHROW(other.deallocate(other.allocate(64), 64));
  gpu.close(block, 64);
  gpu.deallocate(block, 64);
}

TEST_CASE("what is in flight on another stream when a device is lost fails") {
  ThreadExecutor executor(2);
  SimFaults faults(0, {.lost_after = 2}, 0);
  SimStream first(Lane::kCompute, executor, &faults);
  SimStream second(Lane::kCopyIn, executor, &faults);
  std::latch lost(1);
  struct Held {
    std::latch& lost;
    bool failed = false;
  } held{lost};
  first.issue(
      {.run = [](void* self) { static_cast<Held*>(self)->lost.wait(); },
       .finished = [](void*) {},
       .argument = &held,
       .failed = [](void* self,
                    std::exception_ptr /*error*/) { static_cast<Held*>(self)->failed = true; }},
      {});
  second.issue(make_work([] {}, [&lost] { lost.count_down(); }), {});
  drain(first);
  drain(second);
  CHECK(held.failed);
}

TEST_CASE("the delays of launches spread from none to all of the jitter") {
  const SimFaults faults(0, {.jitter = microseconds(100)}, 0);
  CHECK(faults.has_jitter());
  nanoseconds sum(0);
  std::set<nanoseconds> seen;
  for (std::uint64_t launch = 1; launch <= 10'000; ++launch) {
    const nanoseconds delay = faults.delay_of(launch);
    REQUIRE(delay >= nanoseconds(0));
    REQUIRE(delay <= microseconds(100));
    sum += delay;
    seen.insert(delay);
  }
  CHECK(*seen.begin() < microseconds(1));
  CHECK(*seen.rbegin() > microseconds(99));
  CHECK(sum / 10'000 > microseconds(48));
  CHECK(sum / 10'000 < microseconds(52));
}

TEST_CASE("a delay depends on the seed, the device and the launch, and on nothing else") {
  const SimFaultSpec spec{.jitter = microseconds(1000)};
  const SimFaults faults(0, spec, 7);
  const SimFaults same(0, spec, 7);
  const SimFaults other_seed(0, spec, 8);
  const SimFaults other_device(1, spec, 7);
  CHECK(same.delay_of(5) == faults.delay_of(5));
  CHECK(other_seed.delay_of(5) != faults.delay_of(5));
  CHECK(other_device.delay_of(5) != faults.delay_of(5));
  CHECK(faults.delay_of(6) != faults.delay_of(5));
}

TEST_CASE("a late stream keeps its order, takes its time, and computes on the executor") {
  ThreadExecutor executor(1);
  std::thread::id executors;
  SimStream prompt(Lane::kCompute, executor);
  prompt.issue(make_work([&] { executors = std::this_thread::get_id(); }), {});
  drain(prompt);
  SimFaults faults(0, {.jitter = microseconds(2000)}, 0);
  SimStream late(Lane::kCompute, executor, &faults);
  std::vector<std::uint64_t> order;
  std::set<std::thread::id> threads;
  nanoseconds expected(0);
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t launch = 1; launch <= 20; ++launch) {
    expected += faults.delay_of(launch);
    late.issue(make_work([&, launch] {
                 order.push_back(launch);
                 threads.insert(std::this_thread::get_id());
               }),
               {});
  }
  drain(late);
  CHECK(Clock::now() - begin >= expected);
  REQUIRE(order.size() == 20);
  for (std::uint64_t launch = 1; launch <= 20; ++launch) CHECK(order[launch - 1] == launch);
  CHECK(threads == std::set{executors});
}

TEST_CASE("a late stream may be destroyed as soon as its last finished was called") {
  ThreadExecutor executor(2);
  SimFaults faults(0, {.jitter = microseconds(20)}, 0);
  int destroyed = 0;
  for (int i = 0; i < 300; ++i) {
    std::latch done(1);
    auto stream = std::make_unique<SimStream>(Lane::kCompute, executor, &faults);
    stream->issue(make_work([] {}, [&] { done.count_down(); }), {});
    done.wait();
    stream.reset();
    ++destroyed;
  }
  CHECK(destroyed == 300);
}

}  // namespace
}  // namespace heddle::device
