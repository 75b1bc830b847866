#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/error.h"

#include "tests/faults/failing_threads.h"
#include "tests/faults/runs.h"
#include "tests/support/allocated.h"
#include "tests/support/lanes.h"
#include "tests/support/watchdog.h"

// A thread that cannot be created. Threads are made by the first push that needs them: it throws
// std::system_error, and leaves no thread behind.

namespace heddle::faults {
namespace {

using support::kLanes;

std::array<Device, 2> devices() { return {Device::cpu(), Device::gpu(0)}; }

EngineOptions options_of(std::uint64_t seed) {
  EngineOptions options;
  options.kind = seed % 2 == 0 ? EngineKind::kThreaded : EngineKind::kPooled;
  options.cpu_workers = static_cast<int>(1 + seed % 7);
  return options;
}

/// False if there was no thread for the lane.
bool push(Engine& engine, const Var& var, Device device, Lane lane, std::atomic<int>& ran) {
  try {
    engine.push([&ran] { ++ran; }, {}, {var}, {.device = device, .lane = lane});
    return true;
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::resource_unavailable_try_again);
    return false;
  }
}

/// Uses an engine while threads cannot be created from the `first`-th on, and then while they can.
void run_without_threads(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  std::atomic<int> ran{0};
  int pushed = 0;
  std::optional<Engine> engine;
  Var x;
  {
    const FailingThreads failing(1 + random.below(12));
    engine.emplace(options_of(seed));
    x = engine->new_variable();
    for (int i = 0; i < 10; ++i) {
      const int refused = failing.refused();
      const Lane lane = kLanes[static_cast<std::size_t>(random.below(5))];
      const bool is_pushed =
          push(*engine, x, devices()[static_cast<std::size_t>(random.below(2))], lane, ran);
      CHECK(is_pushed == (failing.refused() == refused));
      if (is_pushed) ++pushed;
      tally.add(is_pushed ? "pushes" : "pushes that threw");
    }
  }
  CHECK_NOTHROW(engine->wait_for_all());
  CHECK(ran == pushed);
  for (const Device device : devices()) {
    for (const Lane lane : kLanes) pushed += push(*engine, x, device, lane, ran) ? 1 : 0;
  }
  const ShutdownReport report = engine->shutdown();
  CHECK(report.completed == static_cast<std::uint64_t>(pushed));
  CHECK(ran == pushed);
  tally.add_run();
}

TEST_CASE("an engine without threads refuses to push and leaves neither threads nor memory") {
  Tally tally("2 the creation of threads fails");
  const int threads = thread_count();
  const int count = runs(200);
  std::size_t before = 0;
  for (int seed = 0; seed < count; ++seed) {
    INFO("seed " << seed);
    support::watchdog::progress();
    if (seed == count / 2) before = support::allocated();  // what is kept for ever is there by now
    run_without_threads(static_cast<std::uint64_t>(seed), tally);
    CHECK(threads_fall_to(threads));
  }
  CHECK(support::allocated() < before + 128 * 1024);
}

/// What is thrown, reported and then overwritten, while there is no thread to destroy it on.
void drop_without_thread(std::uint64_t seed, Tally& tally) {
  struct Thrown : std::runtime_error {
    explicit Thrown(std::shared_ptr<int> held)
        : std::runtime_error("thrown"), payload(std::move(held)) {}
    std::shared_ptr<int> payload;
  };
  const auto payload = std::make_shared<int>();
  {
    Engine engine(options_of(seed));
    const Var x = engine.new_variable();
    engine.push([] {}, {}, {x});  // now it has its workers
    const FailingThreads failing(1);
    for (int i = 0; i < 10; ++i) {
      engine.push([&payload] { throw Thrown(payload); }, {}, {x});
      CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
      engine.push([] {}, {}, {x}, {.overwrites = true});
      tally.add("exceptions dropped");
    }
    engine.wait_for_var(x);
    const ShutdownReport report = engine.shutdown();
    CHECK(report.failed == 10);
    CHECK(report.completed == 11);
    CHECK(report.abandoned == 0);
    CHECK(failing.refused() > 0);
    tally.add("threads refused", static_cast<std::uint64_t>(failing.refused()));
  }
  CHECK(payload.use_count() == 1);
  tally.add_run();
}

TEST_CASE("exceptions that there is no thread for are destroyed all the same") {
  Tally tally("2 no thread to destroy exceptions on");
  const int count = runs(200);
  for (int seed = 0; seed < count; ++seed) {
    INFO("seed " << seed);
    support::watchdog::progress();
    drop_without_thread(static_cast<std::uint64_t>(seed), tally);
  }
}

}  // namespace
}  // namespace heddle::faults
