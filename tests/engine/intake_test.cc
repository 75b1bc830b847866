#include "engine/intake.h"

#include <catch2/catch.hpp>

namespace heddle::detail {
namespace {

TEST_CASE("what is pushed with a new priority may be left if nothing else is pending") {
  Intake intake(/*engine=*/1, /*max_pending=*/10);
  CHECK(intake.keeps_order(5, /*has_place=*/false));
  intake.limit().take();
  CHECK(intake.keeps_order(7, /*has_place=*/true));
}

TEST_CASE("what is pushed with a new priority is not left while something else is pending") {
  Intake intake(/*engine=*/1, /*max_pending=*/10);
  intake.limit().take();
  CHECK_FALSE(intake.keeps_order(5, /*has_place=*/false));
  intake.limit().take();
  CHECK_FALSE(intake.keeps_order(5, /*has_place=*/true));
  intake.limit().give_back(2);
  CHECK(intake.keeps_order(5, /*has_place=*/false));
}

}  // namespace
}  // namespace heddle::detail
