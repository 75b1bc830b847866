#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <xmmintrin.h>

#include "heddle/engine.h"

#include "tests/support/cpu_set.h"
#include "tests/support/crowd.h"
#include "tests/support/engines.h"
#include "tests/support/scale.h"

// A thread that waits may run what it waits for, instead of a worker that is idle, and nothing
// else.

namespace heddle {
namespace {

using support::OnCpus;

bool is_on(std::thread::id thread) { return std::this_thread::get_id() == thread; }

/// Pushes and waits until the waiting thread has run the operation itself: `during` with the value
/// true is that. False if it never does.
template <class During>
bool until_helped(Engine& engine, const Var& x, During&& during) {
  const std::thread::id me = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!helped && std::chrono::steady_clock::now() < patience) {
    engine.push(
        [&] {
          if (!is_on(me)) return;
          during();
          helped = true;
        },
        {}, {x});
    engine.wait_for_var(x);
  }
  return helped;
}

TEST_CASE("a thread that waits for a variable runs its operation if no worker has begun it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  CHECK(until_helped(engine, x, [] {}));
}

TEST_CASE("a thread that waits for everything runs operations of it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const std::thread::id me = std::this_thread::get_id();
  const Var x = engine.new_variable();
  std::atomic<int> helped{0};
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (helped == 0 && std::chrono::steady_clock::now() < patience) {
    // By then the workers sleep. What has a name is queued at once, not left for one that comes.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int i = 0; i < 3; ++i) {
      engine.push([&] { helped += is_on(me) ? 1 : 0; }, {}, {x}, {.name = "x"});
    }
    engine.wait_for_all();
  }
  CHECK(helped > 0);
}

TEST_CASE("a thread that pushes one operation at a time, and waits for it, soon runs most itself") {
#ifndef NDEBUG
  return;  // a worker is faster than a push and a wait that are checked, or not optimized
#endif
  if (support::kScale != 1) return;
  constexpr int kEach = 1000;
  EngineOptions options;
  options.cpu_workers = GENERATE(1, 2);
  Engine engine(options);
  const std::thread::id me = std::this_thread::get_id();
  const Var x = engine.new_variable();
  std::array<int, 21> helped{};  // by rounds, as the system may give a worker the CPU in some
  for (int& in_round : helped) {
    for (int i = 0; i < kEach; ++i) {
      engine.push([&] { in_round += is_on(me) ? 1 : 0; }, {}, {x});
      engine.wait_for_var(x);
    }
  }
  std::sort(helped.begin(), helped.end());
  CHECK(helped[helped.size() / 2] >= kEach * 3 / 4);
}

TEST_CASE("workers run what nobody waits for beside a thread that runs what it waits for itself") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  constexpr int kRounds = 200 / support::kScale;
  Engine engine(options);
  const Var x = engine.new_variable();
  std::atomic<bool> ends{false};
  const std::jthread waits([&] {
    while (!ends) {
      engine.push([] {}, {}, {x});
      engine.wait_for_var(x);
    }
  });
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::atomic<int> ran{0};
  for (int i = 0; i != kRounds; ++i) {
    engine.push([&] { ++ran; }, {}, {});
    while (ran == i && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  }
  ends = true;
  CHECK(ran == kRounds);
}

TEST_CASE("a thread that waits for a variable runs nothing that this does not depend on") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  constexpr int kRounds = 2000 / support::kScale;
  Engine engine(options);
  const std::thread::id me = std::this_thread::get_id();
  const Var x = engine.new_variable();
  const Var unrelated = engine.new_variable();
  std::atomic<int> wrong{0};
  for (int i = 0; i < kRounds; ++i) {
    engine.push([&] { wrong += is_on(me) ? 1 : 0; }, {}, {unrelated});
    engine.push([] {}, {}, {x});
    engine.push([&] { wrong += is_on(me) ? 1 : 0; }, {unrelated}, {});
    engine.wait_for_var(x);
  }
  CHECK(wrong == 0);
  engine.wait_for_var_unused(unrelated);
}

TEST_CASE("no more operations run at a time than there are workers, however many threads wait") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  constexpr int kRounds = 300 / support::kScale;
  Engine engine(options);
  support::Crowd crowd;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        const Var mine = engine.new_variable();
        for (int i = 0; i < kRounds; ++i) {
          for (int k = 0; k < 8; ++k) {
            engine.push(
                [&] {
                  crowd.enter();
                  std::this_thread::yield();
                  crowd.leave();
                },
                {}, k % 2 == 0 ? VarList{mine} : VarList{});
          }
          t == 0 ? engine.wait_for_all() : engine.wait_for_var(mine);
        }
      });
    }
  }
  engine.wait_for_all();
  CHECK(crowd.most() <= options.cpu_workers);
}

TEST_CASE("a thread that waits works on the CPU that the workers leave alone") {
  const std::vector<std::size_t> cpus = support::cpus_of_thread();
  if (cpus.size() < 2) return;
  constexpr int kOperations = 500;
  Engine engine({.cpu_workers = 2});
  {
    // The workers start on one CPU, and stay there.
    const OnCpus one{std::span(cpus).first(1)};
    engine.push([] {}, {}, {});
    engine.wait_for_all();
  }
  const OnCpus other{std::span(cpus).subspan(1, 1)};
  const std::thread::id me = std::this_thread::get_id();
  int most = 0;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (most < kOperations / 4 && std::chrono::steady_clock::now() < patience) {
    std::atomic<int> helped{0};
    std::atomic<int> begun{0};
    for (int i = 0; i < 2; ++i) {
      engine.push(
          [&begun] {
            for (++begun; begun < 2;) std::this_thread::yield();
          },
          {}, {});
    }
    for (int i = 0; i < kOperations; ++i) {
      engine.push(
          [&] {
            helped += is_on(me) ? 1 : 0;
            const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
            while (std::chrono::steady_clock::now() < end) continue;
          },
          {}, {});
    }
    while (begun < 2) std::this_thread::yield();  // so that no worker is idle when the wait begins
    engine.wait_for_all();
    most = std::max(most, helped.load());
  }
  CHECK(most >= kOperations / 4);
}

TEST_CASE("every worker has its seat back after a wait") {
  constexpr int kRounds = 2000 / support::kScale;
  constexpr int kOperations = 3000;  // so small that workers nap
  const std::vector<std::size_t> cpus = support::cpus_of_thread();
  const int workers = GENERATE(2, 3);
  Engine engine({.cpu_workers = workers});
  {
    // Workers on one CPU, so that this thread asks for the seat of one.
    const OnCpus one{std::span(cpus).first(1)};
    engine.push([] {}, {}, {});
    engine.wait_for_all();
  }
  const OnCpus other{std::span(cpus).last(1)};
  std::vector<Var> variables;
  for (int i = 0; i < 64; ++i) variables.push_back(engine.new_variable());
  for (int round = 0; round < kRounds; ++round) {
    // Operations that end only if they run at the same time, while this thread runs none.
    std::atomic<int> begun{0};
    std::atomic<bool> go{false};
    for (int i = 0; i < workers; ++i) {
      engine.push(
          [&] {
            for (++begun; !go;) std::this_thread::yield();
          },
          {}, {});
    }
    for (int i = 0; i < kOperations; ++i) {
      engine.push([] {}, {}, {variables[static_cast<std::size_t>(i) % variables.size()]});
    }
    while (begun < workers) std::this_thread::yield();
    go = true;
    engine.wait_for_all();
  }
}

TEST_CASE("an operation that a waiting thread runs sees nothing of that thread's settings") {
  Engine engine({.cpu_workers = 1});
  const Var x = engine.new_variable();
  set_current_device(Device::cpu(3));
  Device device = Device::cpu(3);
  const bool helped = until_helped(engine, x, [&device] {
    device = current_device();
    set_current_device(Device::cpu(7));
  });
  const Device after = current_device();
  set_current_device(Device());
  CHECK(helped);
  CHECK(device == Device());
  CHECK(after == Device::cpu(3));
}

TEST_CASE("a thread that rounds otherwise than the workers runs no operation") {
  Engine engine({.cpu_workers = 1});
  const std::thread::id me = std::this_thread::get_id();
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {x});  // the worker begins with the settings that this thread has now
  engine.wait_for_var(x);
  const unsigned before = _MM_GET_ROUNDING_MODE();
  _MM_SET_ROUNDING_MODE(_MM_ROUND_UP);
  std::atomic<int> helped{0};
  for (int i = 0; i < 2000 / support::kScale; ++i) {
    engine.push([&] { helped += is_on(me) ? 1 : 0; }, {}, {x});
    engine.wait_for_var(x);
  }
  _MM_SET_ROUNDING_MODE(before);
  CHECK(helped == 0);
}

TEST_CASE("a wait inside an operation that a waiting thread runs is refused") {
  Engine engine({.cpu_workers = 1});
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  bool refused = false;
  const bool helped = until_helped(engine, x, [&] {
    try {
      engine.wait_for_var(y);
    } catch (const ReentrantWait&) {
      refused = true;
    }
  });
  CHECK(helped);
  CHECK(refused);
}

TEST_CASE("what an operation throws on a waiting thread comes out of the wait") {
  Engine engine({.cpu_workers = 1});
  const std::thread::id me = std::this_thread::get_id();
  bool helped = false;
  int missing = 0;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!helped && std::chrono::steady_clock::now() < patience) {
    const Var x = engine.new_variable();
    engine.push(
        [&] {
          helped = is_on(me);
          throw std::runtime_error("planned");
        },
        {}, {x});
    try {
      engine.wait_for_var(x);
      ++missing;
    } catch (const OpError&) {
    }
  }
  CHECK(helped);
  CHECK(missing == 0);
}

}  // namespace
}  // namespace heddle
