// Who takes part in a stretch of the ledger.

#include <array>
#include <cstddef>
#include <span>

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
      Task task([](RunContext&) {});
      REQUIRE(ledger_.intake()
                  .try_leave({.task = task,
                              .reads = {},
                              .mutates = {},
                              .device = Device(),
                              .queue = queues[i % queues.size()],
                              .priority = 0,
                              .flags = 0},
                             "Engine::push")
                  .sequence != 0);
    }
  }
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

}  // namespace
}  // namespace heddle::detail
