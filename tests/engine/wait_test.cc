#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/scale.h"

// Waiting needs no worker, covers what was pushed before and makes its effects visible.

namespace heddle {
namespace {

using support::Counter;
using support::Gate;
using support::HeldOperation;
using support::limited;

constexpr PushOptions kBlockingLane{.lane = Lane::kBlocking};

TEST_CASE("when wait_for_var returns, earlier writes are done and visible") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int value = 0;
  int wrong = 0;
  for (int i = 1; i <= 500; ++i) {
    engine.push([&value] { ++value; }, {}, {x});
    engine.wait_for_var(x);
    if (value != i) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("waiting for a fresh variable returns at once") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CHECK_NOTHROW(engine.wait_for_var(x));
  CHECK_NOTHROW(engine.wait_for_var_unused(x));
  CHECK_NOTHROW(engine.wait_for_all());
  CHECK(engine.version(x) == 0);
}

TEST_CASE("wait_for_var does not wait for reads") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {x});
  HeldOperation reader(engine, {x}, {}, kBlockingLane);
  CHECK_NOTHROW(engine.wait_for_var(x));
  reader.release();
  engine.wait_for_all();
}

TEST_CASE("wait_for_var_unused waits for reads too") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<std::unique_ptr<int>> values(200);  // plain memory: a reader must have ended
  int missing = 0;
  for (std::unique_ptr<int>& value : values) {
    engine.push([&value] { value = std::make_unique<int>(1); }, {x}, {});
    engine.wait_for_var_unused(x);
    if (value == nullptr) ++missing;
  }
  CHECK(missing == 0);
}

TEST_CASE("waiting uses no worker and does not queue behind other work") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<std::unique_ptr<HeldOperation>> busy;
  for (int i = 0; i < 2 * options.cpu_workers; ++i) {
    busy.push_back(
        std::make_unique<HeldOperation>(engine, VarList{}, VarList{}, PushOptions{.priority = 9}));
  }
  int value = 0;
  engine.push([&value] { value = 1; }, {}, {x}, kBlockingLane);
  engine.wait_for_var(x);
  CHECK(value == 1);
  engine.wait_for_var_unused(x);
  for (const auto& operation : busy) operation->release();
  engine.wait_for_all();
}

TEST_CASE("a wait covers only what was pushed before it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(limited(options, 4));
  const Var x = engine.new_variable();
  // Each write ends only after the next one was pushed, so x is never without a pending write.
  Counter pushed;
  std::atomic<bool> stop{false};
  std::jthread pusher([&] {
    for (std::size_t i = 1; !stop; ++i) {
      engine.push([&pushed, i] { pushed.wait_for(i + 1); }, {}, {x});
      pushed.add();
    }
    pushed.add();
  });
  pushed.wait_for(1);
  for (int i = 0; i < 100; ++i) engine.wait_for_var(x);
  for (int i = 0; i < 100; ++i) engine.wait_for_var_unused(x);
  for (int i = 0; i < 100; ++i) engine.wait_for_all();
  CHECK(engine.version(x) > 0);
  stop = true;
  pusher.join();
  engine.wait_for_all();
}

TEST_CASE("a wait ends with its operation, however long its worker is busy with the next one") {
  // The wait begins at any moment around the end of its operation.
  constexpr int kRounds = 20000 / support::kScale;
  Engine engine({.cpu_workers = 1});
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  std::atomic<int> waited = 0;  // rounds in which the wait has ended
  std::atomic<bool> too_long = false;
  for (int round = 1; round <= kRounds && !too_long; ++round) {
    engine.push([] {}, {}, {x});
    engine.push(
        [&, round] {
          const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
          while (waited < round && !too_long) {
            too_long = std::chrono::steady_clock::now() > patience;
          }
        },
        {}, {y});
    for (std::atomic<int> i = round % 512; i > 0; --i) continue;
    engine.wait_for_var(x);
    waited = round;
  }
  engine.wait_for_all();
  CHECK_FALSE(too_long);
}

TEST_CASE("many threads may wait for one variable") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  HeldOperation writer(engine, {}, {x});
  int value = 0;
  engine.push([&value] { value = 7; }, {}, {x});
  std::atomic<int> right{0};
  {
    Counter waiting;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&, i] {
        waiting.add();
        i % 2 == 0 ? engine.wait_for_var(x) : engine.wait_for_var_unused(x);
        if (value == 7) ++right;
      });
    }
    waiting.wait_for(16);
    writer.release();
  }
  CHECK(right == 16);
}

TEST_CASE("every waiting thread gets the error") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  HeldOperation writer(engine, {}, {x});
  engine.push([] { throw 1; }, {}, {x});
  std::atomic<int> errors{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&engine, &x, &errors] {
        try {
          engine.wait_for_var(x);
        } catch (const OpError&) {
          ++errors;
        }
      });
    }
    writer.release();
  }
  CHECK(errors == 8);
}

TEST_CASE("threads may push and wait at the same time") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&engine, &wrong] {
        const Var mine = engine.new_variable();
        int value = 0;
        for (int i = 1; i <= 200; ++i) {
          engine.push([&value] { ++value; }, {}, {mine});
          engine.wait_for_var(mine);
          if (value != i) ++wrong;
          if (i % 50 == 0) engine.wait_for_all();
        }
      });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("wait_for_all covers what running operations push") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int depth = 0;
  struct Nested {
    Engine& engine;
    const Var& x;
    int& depth;
    void operator()() const {
      if (++depth < 50) engine.push(Nested(*this), {}, {x});
    }
  };
  engine.push(Nested{engine, x, depth}, {}, {x});
  engine.wait_for_all();
  CHECK(depth == 50);
}

TEST_CASE("an operation's callable is destroyed before the operation counts as done") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int alive = 0;
  for (int i = 0; i < 200; ++i) {
    auto resource = std::make_shared<int>(i);
    const std::weak_ptr<int> watched = resource;
    engine.push([resource = std::move(resource)] {}, {}, {x});
    engine.wait_for_var(x);
    if (!watched.expired()) ++alive;
  }
  CHECK(alive == 0);
}

TEST_CASE("the callable of a skipped operation is destroyed too") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] { throw 1; }, {}, {x});
  auto resource = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = resource;
  engine.push([resource = std::move(resource)] {}, {}, {x});
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  CHECK(watched.expired());
}

}  // namespace
}  // namespace heddle
