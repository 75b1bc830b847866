// Who takes part in a stretch of the ledger, and of what.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/base/grain.h"
#include "engine/ledger.h"
#include "engine/naive_engine.h"

namespace heddle::detail {
namespace {

class NoQueue final : public LaneQueue {
 public:
  NoQueue() : LaneQueue(/*pool=*/nullptr) {}
  void submit(ReadyList /*operations*/) override {}
  void raise(Operation& /*operation*/, int /*from*/, int /*to*/) override {}
};

class Book {
 public:
  /// Enough for a stretch, the queues in turn.
  void arrive(std::span<NoQueue* const> queues) {
    for (std::size_t i = 0; i != 2 * base::kFewestInStretch; ++i) {
      arrive(*queues[i % queues.size()], Task([](RunContext&) {}));
    }
  }
  void arrive(NoQueue& queue, Task task, std::unique_ptr<ManyVariables>* many = nullptr) {
    const bool has_many = many != nullptr;
    const PlainPush push{
        .task = task,
        .reads = {},
        .mutates = {},
        .device = Device(),
        .queue = &queue,
        .priority = 0,
        .flags = has_many ? std::uint16_t{Operation::kManyAccesses} : std::uint16_t{0}};
    REQUIRE(ledger_.intake().try_leave(push, "Engine::push", many).sequence != 0);
  }
  Var new_variable() { return engine_.new_variable("x"); }
  StretchPlace enter(Queues queues, bool joins) {
    ReadyList ready;
    return ledger_.enter_stretch(queues, joins, ledger_.new_mailbox(), ready);
  }

 private:
  NaiveEngine engine_{EngineOptions{}};
  Ledger ledger_{engine_, 1000};
};

TEST_CASE("a worker joins a stretch of its own queue") {
  NoQueue queue;
  const std::array<NoQueue*, 1> all = {&queue};
  const std::array<const LaneQueue*, 1> own = {&queue};
  Book book;
  book.arrive(all);
  const StretchPlace first = book.enter(own, /*joins=*/true);
  const StretchPlace second = book.enter(own, /*joins=*/true);
  REQUIRE(first.stretch != nullptr);
  CHECK(second.stretch == first.stretch);
  CHECK(second.place != first.place);
}

TEST_CASE("no worker joins a stretch of several queues, though the last one is of its own") {
  NoQueue one;
  NoQueue other;
  const std::array<NoQueue*, 2> all = {&one, &other};
  const std::array<const LaneQueue*, 2> both = {&one, &other};
  const std::array<const LaneQueue*, 1> own = {&other};
  Book book;
  book.arrive(all);
  const StretchPlace first = book.enter(both, /*joins=*/false);
  REQUIRE(first.stretch != nullptr);
  CHECK(first.stretch->last().queue == &other);
  CHECK(book.enter(own, /*joins=*/true).stretch == nullptr);
}

TEST_CASE("a stretch ends before an operation that names many variables") {
  NoQueue queue;
  const std::array<NoQueue*, 1> all = {&queue};
  const std::array<const LaneQueue*, 1> own = {&queue};
  Book book;
  book.arrive(all);
  const std::vector<Var> vars(6, book.new_variable());
  auto many = std::make_unique<ManyVariables>(VarList(), vars, &queue);
  book.arrive(queue, Task([](RunContext&) {}), &many);
  book.arrive(all);
  const StretchPlace place = book.enter(own, /*joins=*/true);
  REQUIRE(place.stretch != nullptr);
  CHECK(place.stretch->size() == 2 * base::kFewestInStretch);
}

TEST_CASE("what nobody has taken in is destroyed with the ledger") {
  NoQueue queue;
  const auto held = std::make_shared<int>();
  {
    Book book;
    const std::vector<Var> vars(6, book.new_variable());
    auto many = std::make_unique<ManyVariables>(vars, VarList(), &queue);
    book.arrive(queue, Task([held](RunContext&) {}), &many);
    book.arrive(queue, Task([held](RunContext&) {}));
    CHECK(many == nullptr);
    CHECK(held.use_count() == 3);
  }
  CHECK(held.use_count() == 1);
}

}  // namespace
}  // namespace heddle::detail
