#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/io/fixtures.h"
#include "tests/support/gate.h"

namespace heddle::io::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kQuick{1};

/// A transform that says that it runs and then waits until it is let go. Lets go at the end.
class SlowTransform {
 public:
  ~SlowTransform() { release(); }
  Transform get() const {
    return [state = state_](Sample&) {
      state->started.open();
      state->released.wait();
    };
  }
  void wait_until_started() const { state_->started.wait(); }
  void release() const { state_->released.open(); }

 private:
  struct State {
    support::Gate started;
    support::Gate released;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Leaves no operation of a test to the next one.
struct Drain {
  ~Drain() { Engine::get().wait_for_all(); }
};

TEST_CASE("the destructor returns soon while a transform is blocked") {
  if (!engine_is_parallel()) return;
  const Drain drain;
  const SlowTransform slow;
  std::optional<Pipeline> pipeline(std::in_place, numbered(10),
                                   PipelineOptions{.transforms = {slow.get()}});
  slow.wait_until_started();
  const Clock::time_point start = Clock::now();
  pipeline.reset();
  CHECK(Clock::now() - start < kQuick);
}

TEST_CASE("reset() and restore() return soon while a transform is blocked") {
  if (!engine_is_parallel()) return;
  const Drain drain;
  const SlowTransform slow;
  Pipeline pipeline(numbered(10), {.transforms = {slow.get()}});
  const State state = pipeline.state();
  slow.wait_until_started();
  const Clock::time_point start = Clock::now();
  pipeline.reset();
  pipeline.restore(state);
  CHECK(Clock::now() - start < kQuick);
  slow.release();
  CHECK(flat_epoch_labels(pipeline) == counting(10));
}

TEST_CASE("reset() returns soon while next() waits, which then delivers the new epoch") {
  if (!engine_is_parallel()) return;
  const Drain drain;
  const SlowTransform slow;
  Pipeline pipeline(numbered(10), {.transforms = {slow.get()}});
  support::Gate asked;
  std::int64_t epoch = -1;
  std::thread consumer([&] {
    asked.open();
    epoch = pipeline.next()->epoch;
  });
  asked.wait();
  slow.wait_until_started();
  Clock::duration longest{0};
  while (pipeline.state().epoch == 0) {  // until next() has begun the epoch that reset() ends
    const Clock::time_point start = Clock::now();
    pipeline.reset();
    longest = std::max(longest, Clock::now() - start);
  }
  CHECK(longest < kQuick);
  slow.release();
  consumer.join();
  CHECK(epoch == 1);
}

TEST_CASE("a transform that is short has ended when the destructor returns") {
  std::atomic<int> running{0};
  for (int i = 0; i < 50; ++i) {
    Pipeline pipeline(numbered(100), {.transforms = {[&running](Sample&) {
                                        ++running;
                                        --running;
                                      }},
                                      .decode_threads = 2});
    static_cast<void>(pipeline.next());
  }
  CHECK(running.load() == 0);
}

TEST_CASE("full queues stop the transforms, and the meter of the producers runs") {
  if (!engine_is_parallel()) return;
  std::atomic<int> transformed{0};
  Pipeline pipeline(numbered(100),
                    {.transforms = {[&](Sample&) { ++transformed; }}, .prefetch = 3});
  Engine::get().wait_for_all();
  CHECK(transformed.load() == 3);
  const Clock::time_point start = Clock::now();
  while (Clock::now() - start < std::chrono::milliseconds(5)) std::this_thread::yield();
  static_cast<void>(pipeline.next());
  CHECK(pipeline.meters().producer_wait_seconds >= 0.005);
  Engine::get().wait_for_all();
  CHECK(transformed.load() == 4);
}

TEST_CASE("the meter of the consumer runs while next() waits") {
  if (!engine_is_parallel()) return;
  double waited = 0;
  // The consumer may come to wait only after a while.
  for (std::chrono::milliseconds lead{20}; waited <= 0.001 && lead < kQuick; lead *= 2) {
    const SlowTransform slow;
    Pipeline pipeline(numbered(1), {.transforms = {slow.get()}});
    support::Gate asked;
    std::thread consumer([&] {
      asked.open();
      static_cast<void>(pipeline.next());
    });
    asked.wait();
    std::this_thread::sleep_for(lead);
    slow.release();
    consumer.join();
    waited = pipeline.meters().consumer_wait_seconds;
  }
  CHECK(waited > 0.001);
}

TEST_CASE("a program that never waits stays within prefetch batches of its own work") {
  if (!engine_is_parallel()) return;
  Engine& engine = Engine::get();
  Pipeline pipeline(numbered(100), {.prefetch = 2});
  const Var serial = engine.new_variable();
  std::atomic<int> used{0};
  int furthest = 0;
  for (int k = 0; k < 100; ++k) {
    const Batch batch = pipeline.next().value();
    furthest = std::max(furthest, k - used.load());
    engine.push([&used, batch] { ++used; }, {batch.data.var()}, {serial});
  }
  engine.wait_for_all();
  CHECK(used.load() == 100);
  CHECK(furthest <= 3);
}

}  // namespace
}  // namespace heddle::io::test
