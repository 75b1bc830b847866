#include "engine/generations.h"

#include <limits>

#include <catch2/catch.hpp>

namespace {

using heddle::detail::Generations;
using heddle::detail::Waiter;

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

/// A wait_for_all() that looks instead of blocking.
class Wait {
 public:
  explicit Wait(Generations& generations) : registered_(generations.begin_wait(waiter_)) {}

  bool over() const { return !registered_ || waiter_.woken(); }

 private:
  Waiter waiter_;
  bool registered_;
};

/// Of the added operation.
std::uint64_t add(Generations& generations) {
  const std::uint64_t generation = generations.newest();
  generations.add(generation);
  return generation;
}

}  // namespace

TEST_CASE("a wait while nothing is pending is over at once") {
  Generations generations;
  CHECK(Wait(generations).over());
  generations.end(add(generations));
  CHECK(Wait(generations).over());
}

TEST_CASE("a wait is over with the last operation that it covers") {
  Generations generations;
  const std::uint64_t covered = add(generations);
  add(generations);
  const Wait wait(generations);
  generations.end(covered);
  CHECK_FALSE(wait.over());
  generations.end(covered);
  CHECK(wait.over());
}

TEST_CASE("operations pushed after a wait began do not prolong it") {
  Generations generations;
  const std::uint64_t covered = add(generations);
  const Wait wait(generations);
  add(generations);
  generations.end(covered);
  CHECK(wait.over());
}

TEST_CASE("operations pushed by covered ones prolong the wait") {
  Generations generations;
  const std::uint64_t covered = add(generations);
  const Wait wait(generations);
  generations.add(covered);  // a child, pushed before its parent ends
  generations.end(covered);
  CHECK_FALSE(wait.over());
  generations.end(covered);
  CHECK(wait.over());
}

TEST_CASE("a later wait ends with or after an earlier one") {
  Generations generations;
  const std::uint64_t first = add(generations);
  const Wait earlier(generations);
  const std::uint64_t second = add(generations);
  const Wait later(generations);
  generations.end(second);
  CHECK_FALSE(earlier.over());
  CHECK_FALSE(later.over());
  generations.end(first);
  CHECK(earlier.over());
  CHECK(later.over());
}

TEST_CASE("stopping ends every wait") {
  Generations generations;
  add(generations);
  const Wait wait(generations);
  generations.stop();
  CHECK(wait.over());
}

TEST_CASE("a wait is over when the operations that it covers have ended together") {
  Generations generations;
  const std::uint64_t covered = generations.newest();
  generations.add(covered, 3);
  const Wait wait(generations);
  generations.end(covered, 2);
  CHECK_FALSE(wait.over());
  generations.end(covered, 1);
  CHECK(wait.over());
}

TEST_CASE("what the oldest wait does not cover is announced while it lasts") {
  Generations generations;
  CHECK(generations.first_uncovered() == kNone);
  const std::uint64_t first = add(generations);
  const Wait earlier(generations);
  const std::uint64_t second = add(generations);
  const Wait later(generations);
  CHECK(generations.first_uncovered() == second);
  generations.end(first);
  CHECK(generations.first_uncovered() == generations.newest());
  generations.end(second);
  CHECK(generations.first_uncovered() == kNone);
}
