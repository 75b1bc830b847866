#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <thread>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/faults/failing_memory.h"
#include "tests/faults/load.h"
#include "tests/faults/runs.h"
#include "tests/faults/seeds.h"

// Allocations that fail: a call throws std::bad_alloc with nothing changed, or an operation fails,
// and the engine goes on.

namespace heddle::faults {
namespace {

constexpr int kSteps = 100;

/// Every n-th: mostly few fail, at times all.
std::uint32_t rarity(Random& random) {
  return static_cast<std::uint32_t>(1 + random.below(1 + random.below(60)));
}

/// Waits for everything; what failed does not matter here.
void settle(Engine& engine) {
  try {
    engine.wait_for_all();
  } catch (const AggregateError&) {
  }
}

void run_without_memory(FailingMemory::Of threads, std::uint64_t seed, Tally& tally) {
  Random random(seed);
  EngineOptions options = any_engine(seed);
  options.trace = random.one_in(3);
  std::optional<Engine> engine(options);
  Load load(*engine, {}, /*gpus=*/random.one_in(2) ? 2 : 0);
  const std::uint64_t failures = FailingMemory::failures();
  {
    const FailingMemory failing(threads, rarity(random));
    for (int step = 0; step < kSteps; ++step) load.step(random);
  }
  settle(*engine);
  const std::uint64_t pushed = load.accepted();
  // No number is missing or taken twice, and the engine works.
  const Var fresh = engine->new_variable();
  bool ran = false;
  CHECK(engine->push([&ran] { ran = true; }, {}, {fresh}) == pushed + 1);
  CHECK_NOTHROW(engine->wait_for_var(fresh));
  CHECK(ran);
  const ShutdownReport report = engine->shutdown();
  CHECK(report.abandoned == 0);
  CHECK(report.cancelled == 0);
  CHECK(total(report) == pushed + 1);
  tally.add("operations", pushed);
  tally.add("of them failed", report.failed);
  tally.add("calls that threw", load.without_memory());
  tally.add("allocations failed", FailingMemory::failures() - failures);
  tally.add_run();
  load.drop_variables();
  engine.reset();
}

TEST_CASE("a thread without memory pushes what it can, and each call that throws changes nothing") {
  Tally tally("1 allocations of the pushing thread fail");
  for_seeds(
      runs(300),
      [&](std::uint64_t seed) { run_without_memory(FailingMemory::Of::kThisThread, seed, tally); },
      /*first=*/1);
}

TEST_CASE("where no thread gets memory every operation that was taken ends and is counted once") {
  Tally tally("1 allocations of every thread fail");
  for_seeds(
      runs(300),
      [&](std::uint64_t seed) { run_without_memory(FailingMemory::Of::kEveryThread, seed, tally); },
      /*first=*/1);
}

TEST_CASE("an engine that gets no memory is not made, and the next one works") {
  Tally tally("1 allocations of the constructor fail");
  for_seeds(
      runs(300),
      [&](std::uint64_t seed) {
        Random random(seed);
        std::optional<Engine> engine;
        bool threw = false;
        {
          const FailingMemory failing(FailingMemory::Of::kEveryThread, rarity(random));
          try {
            engine.emplace(any_engine(seed));
          } catch (const std::bad_alloc&) {
            threw = true;
          }
        }
        CHECK(threw != engine.has_value());
        tally.add(threw ? "constructors that threw" : "constructors that did not");
        tally.add_run();
        if (threw) engine.emplace(any_engine(seed));
        const Var x = engine->new_variable();
        bool ran = false;
        engine->push([&ran] { ran = true; }, {}, {x});
        engine->wait_for_var(x);
        CHECK(ran);
      },
      /*first=*/1);
}

TEST_CASE("a wait that gets no memory leaves what nobody has taken in to the next one") {
  Engine engine({.cpu_workers = 1});
  std::atomic<bool> goes_on{false};
  std::atomic<int> ran{0};
  engine.push([&goes_on] { goes_on.wait(false); }, {}, {});
  for (int i = 0; i < 100; ++i) engine.push([&ran] { ++ran; }, {}, {});
  {
    const FailingMemory failing(FailingMemory::Of::kThisThread, 1);
    CHECK_THROWS_AS(engine.wait_for_all(), std::bad_alloc);
  }
  goes_on = true;
  goes_on.notify_all();
  engine.wait_for_all();
  CHECK(ran == 100);
}

/// The errors that wait_for_all tells of.
std::size_t reported(Engine& engine) {
  try {
    engine.wait_for_all();
  } catch (const AggregateError& error) {
    return error.errors().size() + error.omitted();
  }
  return 0;
}

/// Pushes operations that throw while every thread lacks memory, and lets them run. How many.
std::size_t push_failing(Engine& engine, Random& random) {
  std::atomic<std::size_t> ran{0};
  std::size_t pushed = 0;
  const FailingMemory failing(FailingMemory::Of::kEveryThread, rarity(random));
  for (int i = 0; i < 20; ++i) {
    try {
      engine.push(
          [&ran] {
            ++ran;
            throw 1;
          },
          {}, {});
      ++pushed;
    } catch (const std::bad_alloc&) {
    }
  }
  while (ran != pushed) std::this_thread::yield();
  return pushed;
}

TEST_CASE("no error is lost where there is no memory to tell it") {
  Tally tally("1 allocations fail where errors are told");
  for_seeds(
      runs(300),
      [&](std::uint64_t seed) {
        Random random(seed);
        EngineOptions options = parallel_engine(seed);
        options.trace = random.one_in(2);
        Engine engine(options);
        const std::size_t failing = push_failing(engine, random);
        std::size_t told = 0;
        try {
          const FailingMemory none(FailingMemory::Of::kThisThread, rarity(random));
          told = reported(engine);
        } catch (const std::bad_alloc&) {
          tally.add("waits that threw std::bad_alloc");
        }
        told += reported(engine);
        CHECK(told == failing);
        tally.add("errors told", told);
        tally.add_run();
      },
      /*first=*/1);
}

}  // namespace
}  // namespace heddle::faults
