#include "engine/generations.h"

#include <cstdint>

#include <catch2/catch.hpp>

using heddle::detail::Generations;

TEST_CASE("Closing a generation in which nothing is pending ends it") {
  Generations generations;
  CHECK(generations.ended(generations.close()));
}

TEST_CASE("A closed generation ends with its last operation") {
  Generations generations;
  const std::uint64_t generation = generations.newest();
  generations.add(generation);
  generations.add(generation);
  REQUIRE(generations.close() == generation);
  CHECK_FALSE(generations.remove(generation));
  CHECK_FALSE(generations.ended(generation));
  CHECK(generations.remove(generation));
  CHECK(generations.ended(generation));
}

TEST_CASE("Operations pushed after a wait began do not prolong it") {
  Generations generations;
  const std::uint64_t covered = generations.newest();
  generations.add(covered);
  REQUIRE(generations.close() == covered);
  generations.add(generations.newest());
  CHECK(generations.remove(covered));
  CHECK(generations.ended(covered));
  CHECK_FALSE(generations.ended(generations.newest()));
}

TEST_CASE("Operations pushed by covered ones prolong the wait") {
  Generations generations;
  const std::uint64_t covered = generations.newest();
  generations.add(covered);
  REQUIRE(generations.close() == covered);
  generations.add(covered);  // a child, pushed before its parent ends
  CHECK_FALSE(generations.remove(covered));
  CHECK(generations.remove(covered));
}

TEST_CASE("A later wait ends with or after an earlier one") {
  Generations generations;
  const std::uint64_t first = generations.newest();
  generations.add(first);
  generations.close();
  const std::uint64_t second = generations.newest();
  generations.add(second);
  generations.close();
  generations.remove(second);
  CHECK_FALSE(generations.ended(second));
  generations.remove(first);
  CHECK(generations.ended(first));
  CHECK(generations.ended(second));
}
