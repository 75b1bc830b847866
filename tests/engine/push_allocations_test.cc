#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "benchmarks/engine/questions/heap.h"
#include "tests/support/engines.h"
#include "tests/support/gate.h"

// Pushing takes nothing from the heap once the engine has run as much before. The malloc of this
// program counts its calls.

namespace heddle {
namespace {

using bench::engine::AllocationCount;
using support::HeldOperation;

constexpr std::size_t kPushes = 1000;

/// A callable of that size.
template <std::size_t kBytes>
struct Adds {
  std::atomic<std::size_t>* ran;
  std::array<std::byte, kBytes - sizeof(void*)> rest{};

  void operator()() const { ran->fetch_add(1, std::memory_order_relaxed); }
};

/// Pushes operations, each with two variables that it reads and two that it mutates, and waits for
/// them; if they are held, all of them pend at a time. How often that has allocated.
template <std::size_t kBytes>
std::uint64_t allocations(Engine& engine, const std::vector<Var>& vars, bool hold) {
  static_assert(sizeof(Adds<kBytes>) == kBytes);
  std::atomic<std::size_t> ran{0};
  HeldOperation held(engine, {}, vars);
  held.wait_until_started();
  if (!hold) {
    held.release();
    engine.wait_for_all();
  }
  const AllocationCount count;
  for (std::size_t i = 0; i < kPushes; ++i) {
    const auto var = [&](std::size_t which) { return vars[(i + which) % vars.size()]; };
    engine.push(Adds<kBytes>{&ran}, {var(0), var(1)}, {var(2), var(5)});
  }
  held.release();
  engine.wait_for_all();
  const std::uint64_t calls = count.calls();  // before Catch2 allocates
  CHECK(ran == kPushes);
  return calls;
}

std::vector<Var> make_vars(Engine& engine) {
  std::vector<Var> vars;
  for (int i = 0; i < 50; ++i) vars.push_back(engine.new_variable());
  return vars;
}

TEST_CASE("in a steady state 48 bytes and four variables are pushed without an allocation") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const std::vector<Var> vars = make_vars(engine);
  const bool hold = GENERATE(true, false);
  constexpr int kMostRounds = 300;
  constexpr int kSteady = 10;
  int steady = 0;  // rounds one after the other in which nothing was allocated
  for (int round = 0; round < kMostRounds && steady < kSteady; ++round) {
    steady = allocations<48>(engine, vars, hold) == 0 ? steady + 1 : 0;
  }
  CHECK(steady == kSteady);
}

TEST_CASE("a pending operation takes 320 bytes at most, also once a worker has taken it in") {
  constexpr std::size_t kPending = 100000;
  Engine engine({.cpu_workers = 1, .max_pending = 2 * kPending});
  const std::vector<Var> vars = make_vars(engine);
  HeldOperation held(engine, {}, vars);
  held.wait_until_started();
  std::atomic<std::size_t> ran{0};
  const std::size_t before = bench::engine::heap_bytes();
  for (std::size_t i = 0; i < kPending; ++i) {
    engine.push(Adds<48>{&ran}, {}, {vars[i % vars.size()]});
  }
  const std::size_t arrived = bench::engine::heap_bytes() - before;
  engine.push([] {}, {}, {}, {.name = "named"});  // before it, all that has arrived is taken in
  const std::size_t taken_in = bench::engine::heap_bytes() - before;
  held.release();
  engine.wait_for_all();
  CHECK(ran == kPending);
  CHECK(arrived / kPending <= 320);
  CHECK(taken_in / kPending <= 320);
  CHECK(taken_in > arrived);
}

TEST_CASE("with a name, a group or a Completion a pending operation takes 640 bytes at most") {
  constexpr std::size_t kPending = 100000;
  Engine engine({.cpu_workers = 1, .max_pending = 2 * kPending});
  const Var x = engine.new_variable();
  const CancelSource source;
  const auto push_named = [&] { engine.push([] {}, {}, {x}, {.name = "named"}); };
  const auto push_grouped = [&] { engine.push([] {}, {}, {x}, {.cancel = source.token()}); };
  const auto push_async = [&] {
    engine.push_async([](RunContext&, Completion completion) { completion.done(); }, {}, {x});
  };
  const std::function<void()> pushes[] = {push_named, push_grouped, push_async};
  const std::function<void()>& push = pushes[GENERATE(0, 1, 2)];
  HeldOperation held(engine, {}, {x});
  held.wait_until_started();
  const std::size_t before = bench::engine::heap_bytes();
  for (std::size_t i = 0; i < kPending; ++i) push();
  const std::size_t pending = bench::engine::heap_bytes() - before;
  held.release();
  engine.wait_for_all();
  CHECK(pending / kPending > 320);
  CHECK(pending / kPending <= 640);
}

TEST_CASE("whatever is allocated for an operation is counted") {
  Engine engine({.max_pending = 2 * kPushes});
  const std::vector<Var> vars = make_vars(engine);
  // The first time nothing is there to be used again.
  CHECK(allocations<2048>(engine, vars, /*hold=*/true) > 0);
}

}  // namespace
}  // namespace heddle
