#include "engine/device/sim_stream.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/engine/device/stream_fixture.h"

namespace heddle::device {
namespace {

Lane any_lane() { return GENERATE(Lane::kCompute, Lane::kCopyIn); }

TEST_CASE("a stream runs its work in the order of issue") {
  ThreadExecutor executor(3);
  SimStream stream(any_lane(), executor);
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    stream.issue(make_work([&order, i] { order.push_back(i); }), {});
  }
  drain(stream);
  REQUIRE(order.size() == 1000);
  for (int i = 0; i < 1000; ++i) REQUIRE(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("one piece of a stream runs at a time") {
  ThreadExecutor executor(4);
  SimStream stream(any_lane(), executor);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  for (int i = 0; i < 200; ++i) {
    stream.issue(make_work(
                     [&] {
                       const int now = ++running;
                       most = std::max(most.load(), now);
                       std::this_thread::yield();
                     },
                     [&] { --running; }),
                 {});
  }
  drain(stream);
  CHECK(most == 1);
}

TEST_CASE("tokens count the pieces of one stream") {
  ThreadExecutor executor(1);
  SimStream stream(any_lane(), executor);
  const Token first = stream.issue(make_work([] {}), {});
  const Token second = stream.issue(make_work([] {}), {});
  CHECK(first.stream() == stream.id());
  CHECK(second.stream() == stream.id());
  CHECK(second.sequence() == first.sequence() + 1);
  drain(stream);
}

TEST_CASE("a piece waits for a token of another stream") {
  ThreadExecutor executor(2);
  SimStream producer(any_lane(), executor);
  SimStream consumer(Lane::kCopyOut, executor);
  std::latch go(1);
  std::atomic<int> value = 0;
  int seen = -1;
  const Token token = producer.issue(make_work([&] {
                                       go.wait();
                                       value = 42;
                                     }),
                                     {});
  consumer.issue(make_work([&] { seen = value; }), std::array{token});
  go.count_down();
  drain(consumer);
  CHECK(seen == 42);
  drain(producer);
}

TEST_CASE("a token is reached only after finished has returned") {
  ThreadExecutor executor(2);
  SimStream producer(any_lane(), executor);
  SimStream consumer(Lane::kCopyOut, executor);
  std::latch issued(1);
  bool finished = false;
  bool seen = false;
  const Token token = producer.issue(make_work([] {},
                                               [&] {
                                                 issued.wait();
                                                 finished = true;
                                               }),
                                     {});
  consumer.issue(make_work([&] { seen = finished; }), std::array{token});
  issued.count_down();
  drain(consumer);
  CHECK(seen);
  drain(producer);
}

TEST_CASE("a piece waits for all of its tokens, in any order of completion") {
  ThreadExecutor executor(1);
  SimStream first(Lane::kCopyIn, executor);
  SimStream second(Lane::kCopyOut, executor);
  SimStream third(Lane::kComm, executor);
  SimStream consumer(Lane::kCompute, executor);
  std::latch slow(1);
  std::latch second_done(1);
  std::atomic<int> done = 0;
  int seen = -1;
  const std::array tokens = {
      first.issue(make_work([&] {
                    slow.wait();
                    ++done;
                  }),
                  {}),
      second.issue(make_work([&] { ++done; }, [&] { second_done.count_down(); }), {}),
      third.issue(make_work([&] { ++done; }), {})};
  consumer.issue(make_work([&] { seen = done; }), tokens);
  second_done.wait();
  slow.count_down();
  drain(consumer);
  CHECK(seen == 3);
  for (SimStream* stream : {&first, &second, &third}) drain(*stream);
}

TEST_CASE("a waiting stream does not hold up another one") {
  ThreadExecutor executor(1);
  SimStream blocked(Lane::kCopyIn, executor);
  SimStream waiting(Lane::kCompute, executor);
  SimStream free(Lane::kCompute, executor);
  std::latch go(1);
  bool waited = false;
  const Token token = blocked.issue(make_work([&] { go.wait(); }), {});
  waiting.issue(make_work([&] { waited = true; }), std::array{token});
  drain(free);  // the executor's only thread would be taken if waiting used one
  go.count_down();
  drain(waiting);
  CHECK(waited);
  drain(blocked);
}

TEST_CASE("tokens that are reached, the empty one and a stream's own are no obstacle") {
  ThreadExecutor executor(1);
  SimStream other(Lane::kCopyIn, executor);
  SimStream stream(any_lane(), executor);
  const Token reached = other.issue(make_work([] {}), {});
  drain(other);
  const Token own = stream.issue(make_work([] {}), {});
  bool ran = false;
  stream.issue(make_work([&] { ran = true; }), std::array{Token(), reached, own});
  drain(stream);
  CHECK(ran);
}

TEST_CASE("finished may issue to its own and to other streams") {
  ThreadExecutor executor(2);
  SimStream stream(any_lane(), executor);
  SimStream other(Lane::kCopyOut, executor);
  std::vector<int> order;
  std::latch done(2);
  const auto piece = [&](int number) {
    return make_work([&order, number] { order.push_back(number); }, [&done] { done.count_down(); });
  };
  stream.issue(make_work([] {},
                         [&] {
                           const Token token = stream.issue(piece(1), {});
                           other.issue(piece(2), std::array{token});
                         }),
               {});
  done.wait();
  drain(stream);
  drain(other);
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("a stream may be destroyed as soon as its last finished was called") {
  ThreadExecutor executor(2);
  const Lane lane = any_lane();
  int destroyed = 0;
  for (int i = 0; i < 500; ++i) {
    std::latch done(1);
    auto stream = std::make_unique<SimStream>(lane, executor);
    stream->issue(make_work([] {}, [&] { done.count_down(); }), {});
    done.wait();
    stream.reset();
    ++destroyed;
  }
  CHECK(destroyed == 500);
}

TEST_CASE("a stream without work can be destroyed") {
  ThreadExecutor executor(1);
  std::optional<SimStream> stream(std::in_place, any_lane(), executor);
  stream.reset();
  CHECK_FALSE(stream.has_value());
}

TEST_CASE("a stream for which its executor has no room gives its thread and its id back") {
  struct Full : Executor {
    void reserve() override { throw std::bad_alloc(); }
    void execute(const Work& /*work*/) noexcept override {}
  };
  Full full;
  const auto make = [&full] { const SimStream stream(Lane::kCopyIn, full); };
  ThreadExecutor executor(1);
  const std::uint16_t id = SimStream(Lane::kCompute, executor).id();
  for (int i = 0; i < 100; ++i) REQUIRE_THROWS_AS(make(), std::bad_alloc);
  CHECK(SimStream(Lane::kCompute, executor).id() == id);
}

TEST_CASE("living streams have ids of their own, and no stream has that of Token{}") {
  ThreadExecutor executor(1);
  std::vector<std::unique_ptr<SimStream>> streams;
  std::set<std::uint16_t> ids;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(std::make_unique<SimStream>(Lane::kCompute, executor));
    ids.insert(streams.back()->id());
  }
  CHECK(ids.size() == 100);
  CHECK(ids.count(Token().stream()) == 0);
}

TEST_CASE("tokens of a stream that is gone are reached, also when its id is used again") {
  ThreadExecutor executor(1);
  std::optional<SimStream> old(std::in_place, Lane::kCompute, executor);
  const std::uint16_t id = old->id();
  Token token;
  for (int i = 0; i < 10; ++i) token = old->issue(make_work([] {}), {});
  drain(*old);
  old.reset();

  SimStream successor(Lane::kCompute, executor);
  REQUIRE(successor.id() == id);
  bool ran = false;
  SimStream other(Lane::kCopyIn, executor);
  other.issue(make_work([&] { ran = true; }), std::array{token});
  drain(other);
  CHECK(ran);
}

/// Runs work at once and remembers the priority that it came with.
class InlineExecutor final : public Executor {
 public:
  void execute(const Work& work) noexcept override {
    last_priority = work.priority;
    work.run(work.argument);
    work.finished(work.argument);
  }
  int last_priority = 0;
};

/// The priority at which a stream of `lane` asks for brief work of `priority` to be run.
int executor_priority(Lane lane, int priority) {
  InlineExecutor executor;
  SimStream stream(lane, executor);
  Work work = make_work([] {});
  work.priority = priority;
  work.brief = true;
  stream.issue(work, {});
  return executor.last_priority;
}

TEST_CASE("copies to a device leave the threads to all that computes") {
  constexpr int kLowest = std::numeric_limits<int>::min();
  CHECK(executor_priority(Lane::kCopyIn, 1000) < executor_priority(Lane::kCompute, -1000));
  CHECK(executor_priority(Lane::kCopyIn, 0) < executor_priority(Lane::kCopyIn, 1));
  CHECK(executor_priority(Lane::kCopyIn, kLowest) == kLowest);
}

TEST_CASE("an exchange has no other priority among the threads than it was pushed with") {
  CHECK(executor_priority(Lane::kComm, -2) == -2);
  CHECK(executor_priority(Lane::kComm, 3) == 3);
}

TEST_CASE("many streams in a ring hand a counter round") {
  ThreadExecutor executor(2);
  constexpr std::size_t kStreams = 8;
  constexpr int kRounds = 500;
  std::vector<std::unique_ptr<SimStream>> streams;
  for (std::size_t i = 0; i < kStreams; ++i) {
    const Lane lane = i % 2 == 0 ? Lane::kCompute : Lane::kCopyIn;
    streams.push_back(std::make_unique<SimStream>(lane, executor));
  }
  long counter = 0;  // not atomic: the tokens alone order the increments
  Token last;
  for (int round = 0; round < kRounds; ++round) {
    for (auto& stream : streams) {
      last = stream->issue(make_work([&counter] { ++counter; }), std::array{last});
    }
  }
  for (auto& stream : streams) drain(*stream);
  CHECK(counter == long{kStreams} * kRounds);
}

}  // namespace
}  // namespace heddle::device
