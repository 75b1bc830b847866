#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/cuda.h"
#include "heddle/engine.h"
#include "heddle/error.h"

#include "engine/device/cuda_synchronize.h"
#include "tests/support/fake_cuda_runtime.h"

// GPUs that end each operation before the next one. This program has the logical GPUs 0 and 1 on
// one card and 2 on another.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

constexpr std::array kLanes = {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm};

class DebugSync : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    TestEventListenerBase::testRunStarting(info);
    RuntimeOptions options;
    options.gpus = "cuda:0,cuda:0,cuda:1";
    options.debug_sync = true;
    configure(options);
  }
};

CATCH_REGISTER_LISTENER(DebugSync)

std::size_t card_of(Device device) { return device.id() == 2 ? 1 : 0; }

/// What is enqueued and has not ended, by card.
class InFlight {
 public:
  /// For a callable: something that takes a moment.
  void enqueue(const RunContext& context) {
    std::atomic<int>& count = counts_[card_of(context.device)];
    if (++count > 1) is_crowded_ = true;
    support::enqueue_on_fake_cuda(cuda_stream(context), [this, &count] {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      --count;
      ++ended_;
    });
  }
  bool is_crowded() const { return is_crowded_; }
  int ended() const { return ended_; }

 private:
  std::array<std::atomic<int>, 2> counts_{};
  std::atomic<bool> is_crowded_{false};
  std::atomic<int> ended_{0};
};

/// The message of what the last writer of `var` failed with; "" if it did not.
std::string error_of(Engine& engine, const Var& var) {
  try {
    engine.wait_for_var(var);
  } catch (const OpError& error) {
    return error.what();
  }
  return {};
}

/// An operation that breaks the GPU when its stream comes to it.
std::uint64_t push_fault(Engine& engine, const Var& var, const PushOptions& options) {
  return engine.push(
      [](const RunContext& context) {
        support::enqueue_on_fake_cuda(cuda_stream(context), [] { support::break_fake_cuda(); });
      },
      {}, {var}, options);
}

TEST_CASE("an operation has ended before the next one is issued to its card") {
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  InFlight in_flight;
  Engine engine;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&engine, &in_flight, t] {
      const Var x = engine.new_variable();
      for (int i = 0; i < kEach; ++i) {
        const auto at = static_cast<std::size_t>(t + i);
        engine.push([&in_flight](const RunContext& context) { in_flight.enqueue(context); },
                    i % 3 == 0 ? VarList{} : VarList{x}, i % 3 == 0 ? VarList{x} : VarList{},
                    {.device = Device::gpu((t + i) % 3), .lane = kLanes[at / 3 % kLanes.size()]});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine.wait_for_all();
  CHECK_FALSE(in_flight.is_crowded());
  CHECK(in_flight.ended() == kThreads * kEach);
}

TEST_CASE("each operation costs exactly one wait for the GPU") {
  constexpr std::uint64_t kOperations = 10000;
  const std::uint64_t counted = device::cuda_blocking_synchronizations();
  const std::uint64_t witnessed = support::fake_cuda_synchronizations();
  Engine engine;
  std::vector<Var> vars;
  for (int i = 0; i < 8; ++i) vars.push_back(engine.new_variable());
  for (std::size_t i = 0; i < kOperations; ++i) {
    engine.push([] {}, {vars[i % 8]}, {vars[(i / 3 + 1 + i) % 8]},
                {.device = Device::gpu(static_cast<int>(i % 2)), .lane = kLanes[i / 7 % 4]});
  }
  engine.wait_for_all();
  CHECK(device::cuda_blocking_synchronizations() - counted == kOperations);
  CHECK(support::fake_cuda_synchronizations() - witnessed == kOperations);
}

TEST_CASE("what an operation pushes is issued after all that it has enqueued has ended") {
  InFlight in_flight;
  Engine engine;
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  int before = 0;
  bool is_inner_issued = false;
  bool was_inner_issued = true;
  engine.push(
      [&](const RunContext& context) {
        in_flight.enqueue(context);
        engine.push(
            [&](const RunContext& inner) {
              is_inner_issued = true;
              before = in_flight.ended();
              in_flight.enqueue(inner);
            },
            {}, {y}, {.device = Device::gpu(1), .lane = Lane::kComm});
        was_inner_issued = is_inner_issued;
      },
      {}, {x}, {.device = Device::gpu(0)});
  engine.wait_for_all();
  CHECK_FALSE(was_inner_issued);
  CHECK(before == 1);
  CHECK(in_flight.ended() == 2);
  CHECK_FALSE(in_flight.is_crowded());
}

TEST_CASE("operations of two cards that push to each other's do not wait for ever") {
  constexpr int kRounds = 300;
  InFlight in_flight;
  Engine engine;
  const auto push_across = [&](int from, int to) {
    const Var x = engine.new_variable();
    const Var y = engine.new_variable();
    for (int i = 0; i < kRounds; ++i) {
      engine.push(
          [&, to, y](const RunContext& context) {
            in_flight.enqueue(context);
            engine.push([&](const RunContext& inner) { in_flight.enqueue(inner); }, {}, {y},
                        {.device = Device::gpu(to), .lane = Lane::kComm});
          },
          {}, {x}, {.device = Device::gpu(from)});
    }
  };
  std::thread other([&] { push_across(2, 1); });
  push_across(0, 2);
  other.join();
  engine.wait_for_all();
  CHECK(in_flight.ended() == 4 * kRounds);
  CHECK_FALSE(in_flight.is_crowded());
}

TEST_CASE("an operation waits on the device for those of another card") {
  Engine engine;
  const Var x = engine.new_variable();
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) {
    engine.push(
        [&order, i](const RunContext& context) {
          support::enqueue_on_fake_cuda(cuda_stream(context), [&order, i] { order.push_back(i); });
        },
        {}, {x},
        {.device = Device::gpu(i % 3), .lane = kLanes[static_cast<std::size_t>(i / 3 % 4)]});
  }
  engine.wait_for_var(x);
  CHECK(order.size() == 200);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("an error of the GPU is that of the operation which has caused it", "[.]") {
  Engine engine;
  std::vector<Var> vars;
  for (int i = 0; i < 40; ++i) vars.push_back(engine.new_variable());
  std::uint64_t culprit = 0;
  for (std::size_t i = 0; i < vars.size(); ++i) {
    const PushOptions options = {.device = Device::gpu(static_cast<int>(i % 2)),
                                 .lane = kLanes[i / 2 % 4],
                                 .name = i == 20 ? "culprit" : ""};
    if (i == 20) {
      culprit = push_fault(engine, vars[i], options);
    } else {
      engine.push([] {}, {}, {vars[i]}, options);
    }
  }
  // Nothing orders them: another lane's thread may issue one sooner or later than it was pushed.
  const std::string culprits =
      "[cuda:0] operation #" + std::to_string(culprit) + ": an illegal memory access";
  for (std::size_t i = 0; i < vars.size(); ++i) {
    const std::string error = error_of(engine, vars[i]);
    if (i == 20) {
      CHECK_THAT(error, Contains("culprit") &&
                            Contains("[cuda:0] this operation: an illegal memory access was "
                                     "encountered (cudaErrorIllegalAddress)"));
    } else {
      CHECK_THAT(error, Equals("") || (Contains(culprits) && Contains("lost")));
    }
  }
  for (int device = 0; device != 2; ++device) {
    engine.push([] {}, {}, {vars[0]}, {.device = Device::gpu(device), .overwrites = true});
    CHECK_THAT(error_of(engine, vars[0]), Contains(culprits) && Contains("lost"));
  }
}

TEST_CASE("an error before an operation pushes another one is not the other one's", "[.]") {
  Engine engine;
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  engine.push(
      [&](const RunContext& context) {
        support::enqueue_on_fake_cuda(cuda_stream(context), [] { support::break_fake_cuda(); });
        engine.push([] {}, {}, {y}, {.device = Device::gpu(1), .lane = Lane::kComm});
      },
      {}, {x}, {.device = Device::gpu(0)});
  CHECK_THAT(error_of(engine, x), Contains("this operation"));
  CHECK_THAT(error_of(engine, y), Contains("lost") && !Contains("this operation"));
}

}  // namespace
}  // namespace heddle
