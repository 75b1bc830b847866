#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/faults/runs.h"
#include "tests/faults/seeds.h"
#include "tests/support/gate.h"
#include "tests/support/scale.h"
#include "tests/support/watchdog.h"

// Too much work: operations that push a hundred thousand others, one that does not end, and
// pushers that are ten times as fast as the workers.

namespace heddle::faults {
namespace {

using support::HeldOperation;
using Clock = std::chrono::steady_clock;

/// Pushes `children` operations that each push as many, until `left` is used up.
struct Breed {
  Engine& engine;
  std::atomic<int>& left;
  std::atomic<int>& ran;
  int children;

  void operator()() const {
    ++ran;
    for (int i = 0; i < children; ++i) {
      if (left.fetch_sub(1) <= 0) return;
      engine.push(Breed{engine, left, ran, children}, {}, {});
    }
  }
};

TEST_CASE("an operation can push a hundred thousand others whatever max_pending is") {
  Tally tally("6 operations that push 10^5 others");
  constexpr int kChildren = 100'000 / support::kScale;
  for_seeds(runs(24), [&](std::uint64_t seed) {
    Random random(seed);
    Engine engine(parallel_engine(seed));
    std::atomic<int> left{kChildren};
    std::atomic<int> ran{0};
    constexpr std::array<int, 4> kBroods = {kChildren, 1000, 3, 1};
    engine.push(Breed{engine, left, ran, kBroods[seed % 4]}, {}, {});
    engine.wait_for_all();
    CHECK(ran == kChildren + 1);
    CHECK(engine.shutdown().completed == static_cast<std::uint64_t>(kChildren) + 1);
    tally.add("operations", static_cast<std::uint64_t>(kChildren) + 1);
    tally.add_run();
  });
}

/// One operation that does not end, and waits for others meanwhile; each returns while that still
/// runs, or this does not return at all.
void run_beside_slow(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  EngineOptions options;
  options.kind = seed % 2 == 0 ? EngineKind::kThreaded : EngineKind::kPooled;
  options.cpu_workers = static_cast<int>(2 + seed % 5);
  Engine engine(options);
  const Var slow = engine.new_variable();
  const std::array<Var, 3> others = {engine.new_variable(), engine.new_variable(),
                                     engine.new_variable()};
  HeldOperation held(engine, {}, {slow},
                     {.lane = random.one_in(2) ? Lane::kBlocking : Lane::kCompute,
                      .priority = random.below(3) - 1});
  if (random.one_in(2)) held.wait_until_started();
  std::atomic<int> ran{0};
  int pushed = 0;
  for (int i = 0; i < 100; ++i) {
    const Var& x = others[static_cast<std::size_t>(random.below(3))];
    const Var& y = others[static_cast<std::size_t>(random.below(3))];
    if (random.one_in(10)) engine.push([] {}, {}, {slow});  // held back
    engine.push([&ran] { ++ran; }, {x}, {y});
    ++pushed;
    if (random.one_in(5)) engine.wait_for_var(y);
    tally.add("operations beside it");
  }
  for (const Var& x : others) engine.wait_for_var(x);
  for (const Var& x : others) engine.wait_for_var_unused(x);
  CHECK(ran == pushed);
  held.release();
  tally.add_run();
}

TEST_CASE("waits for unrelated operations end while a slow one runs") {
  Tally tally("7 an operation that does not end");
  for_seeds(runs(200), [&](std::uint64_t seed) { run_beside_slow(seed, tally); });
}

/// What a pusher leaves; it does not fit into an operation.
struct Load {
  std::atomic<std::uint64_t>& ran;
  std::array<char, 100> bytes{};

  void operator()() const {
    const auto end = Clock::now() + std::chrono::microseconds(10);
    while (Clock::now() < end) {
    }
    ran.fetch_add(1, std::memory_order_relaxed);
  }
};

/// The most memory in RAM, looked at now and then.
class Peak {
 public:
  void look() {
    const std::int64_t now = resident_kib();
    std::int64_t before = most_.load();
    while (now > before && !most_.compare_exchange_weak(before, now)) {
    }
  }
  std::int64_t kib() const { return most_; }

 private:
  std::atomic<std::int64_t> most_{0};
};

/// The least time that one of many pushes has taken which found a place at once: how fast a pusher
/// is that nobody holds back, and whose CPU nobody takes.
class UnblockedPush {
 public:
  /// Of one pusher, before its first push.
  class Chunks {
   public:
    explicit Chunks(UnblockedPush& all) : all_(all) {}
    /// The last push has returned.
    void add() {
      if (++pushes_ % kChunk != 0) return;
      const Clock::time_point now = Clock::now();
      all_.look((now - begin_) / kChunk);
      begin_ = now;
    }

   private:
    static constexpr int kChunk = 256;
    UnblockedPush& all_;
    int pushes_ = 0;
    Clock::time_point begin_ = Clock::now();
  };

  std::chrono::nanoseconds least() const { return std::chrono::nanoseconds(least_); }

 private:
  void look(std::chrono::nanoseconds time) {
    std::int64_t before = least_;
    while (time.count() < before && !least_.compare_exchange_weak(before, time.count())) {
    }
  }

  std::atomic<std::int64_t> least_{std::chrono::nanoseconds::max().count()};
};

void overload(int pushers, std::uint64_t operations, Tally& tally) {
  const std::int64_t before = resident_kib();
  Peak peak;
  std::atomic<std::uint64_t> ran{0};
  std::atomic<std::uint64_t> refused{0};
  EngineOptions options;
  options.cpu_workers = 2;
  options.max_pending /= support::kScale;
  Engine engine(options);
  // The workers begin when the queue is full, however slow pushing is where this runs.
  HeldOperation first(engine, {}, {});
  HeldOperation second(engine, {}, {});
  UnblockedPush unblocked;
  Clock::time_point released;
  const auto release = [&] {
    released = Clock::now();
    first.release();
    second.release();
  };
  const std::uint64_t each = operations / static_cast<std::uint64_t>(pushers);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < pushers; ++t) {
      threads.emplace_back([&] {
        UnblockedPush::Chunks chunks(unblocked);
        for (std::uint64_t i = 0; i < each; ++i) {
          const Load load{ran};
          if (refused == 0) chunks.add();
          if (!engine.try_push(load, {}, {})) {
            if (refused.fetch_add(1) == 0) release();
            engine.push(load, {}, {});
          }
          if (i % 16384 != 0) continue;
          support::watchdog::progress();
          peak.look();
        }
      });
    }
  }
  if (refused == 0) release();
  engine.wait_for_all();
  const auto per_operation = (Clock::now() - released) / static_cast<std::int64_t>(ran.load());
  const std::int64_t times_as_fast = per_operation / unblocked.least();
  peak.look();
  CHECK(ran == each * static_cast<std::uint64_t>(pushers));
  CHECK(refused > 0);  // else nothing was overloaded
  CAPTURE(per_operation.count(), unblocked.least().count());
  if (support::kScale == 1) CHECK(times_as_fast >= 10);  // a sanitizer slows the pushers only
  CHECK_FALSE(is_more_than(64 * 1024, before, peak.kib()));
  tally.add("operations", ran);
  tally.add("pushes that found no place", refused);
  tally.add("times as fast is a pusher as the workers", static_cast<std::uint64_t>(times_as_fast));
  tally.add_run();
  tally.add("KiB more at most",
            static_cast<std::uint64_t>(std::max<std::int64_t>(0, peak.kib() - before)));
}

std::uint64_t overload_size() { return static_cast<std::uint64_t>(runs(1'000'000, 10'000'000)); }

TEST_CASE("a pusher that is much faster than the workers is held back and memory stays bounded") {
  Tally tally("10 overload by one pusher");
  overload(1, overload_size(), tally);
}

TEST_CASE("four pushers that are much faster than the workers are held back") {
  Tally tally("10 overload by four pushers");
  overload(4, overload_size(), tally);
}

}  // namespace
}  // namespace heddle::faults
