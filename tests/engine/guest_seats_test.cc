#include "engine/guest_seats.h"

#include <cstdint>

#include <catch2/catch.hpp>

namespace heddle::detail {
namespace {

/// Until workers nap for it.
void lengthen_streak(GuestSeats& seats) {
  for (std::uint32_t i = 0; i != base::kLongStreak; ++i) seats.continue_streak();
}

TEST_CASE("a few operations of guests are no streak for which workers nap") {
  GuestSeats seats;
  for (std::uint32_t i = 0; i + 1 != base::kLongStreak; ++i) seats.continue_streak();
  std::uint32_t seen = 0;
  CHECK_FALSE(seats.streak_goes_on(seen));
}

TEST_CASE("a streak goes on if it has become longer since the last look") {
  GuestSeats seats;
  lengthen_streak(seats);
  std::uint32_t seen = 0;
  CHECK(seats.streak_goes_on(seen));
  CHECK_FALSE(seats.streak_goes_on(seen));
  seats.continue_streak();
  CHECK(seats.streak_goes_on(seen));
}

TEST_CASE("a streak that has ended begins anew") {
  GuestSeats seats;
  lengthen_streak(seats);
  std::uint32_t seen = 0;
  CHECK(seats.streak_goes_on(seen));
  seats.end_streak();
  CHECK_FALSE(seats.streak_goes_on(seen));
  lengthen_streak(seats);
  CHECK(seats.streak_goes_on(seen));
}

TEST_CASE("one guest at a time asks for a seat, and is told whether it was granted") {
  GuestSeats seats;
  REQUIRE(seats.ask());
  CHECK_FALSE(seats.ask());
  CHECK_FALSE(seats.withdraw());
  REQUIRE(seats.ask());
  seats.grant();
  CHECK(seats.has_granted());
  CHECK(seats.count() == 1);
  CHECK(seats.withdraw());
  CHECK_FALSE(seats.has_granted());
}

}  // namespace
}  // namespace heddle::detail
