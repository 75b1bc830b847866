#include <chrono>
#include <deque>
#include <optional>
#include <thread>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/io/fixtures.h"
#include "tests/support/gate.h"

// A pipeline on an engine that takes few operations. This program's default engine is one.

namespace heddle::io::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kQuick{1};

TEST_CASE("reset() and state() return soon while next() waits for the engine to take a push") {
  constexpr int kMaxPending = 3;
  configure({.engine = {.max_pending = kMaxPending}});
  if (!engine_is_parallel()) return;
  Engine& engine = Engine::get();
  Pipeline pipeline(numbered(10), {.prefetch = 1});
  engine.wait_for_all();
  std::deque<support::HeldOperation> held;
  for (int i = 0; i < kMaxPending; ++i) held.emplace_back(engine, VarList(), VarList());
  std::optional<Batch> batch;
  std::thread consumer([&] { batch = pipeline.next(); });
  while (pipeline.state().index == 0) std::this_thread::yield();  // the next push finds no room
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Clock::time_point start = Clock::now();
  pipeline.reset();
  CHECK(pipeline.state().epoch == 1);
  CHECK(Clock::now() - start < kQuick);
  held.clear();
  consumer.join();
  REQUIRE(batch);
  CHECK(batch->epoch == 0);
  batch = pipeline.next();
  REQUIRE(batch);
  CHECK(batch->epoch == 1);
  CHECK(batch->index == 0);
  engine.wait_for_all();
}

}  // namespace
}  // namespace heddle::io::test
