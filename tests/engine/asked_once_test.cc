#include "engine/asked_once.h"

#include <catch2/catch.hpp>

namespace heddle::detail {
namespace {

constexpr auto kNothing = [] {};

TEST_CASE("what is asked for while somebody looks is left to who looks, who does so once more") {
  AskedOnce once;
  int looks = 0;
  int between = 0;
  bool asker_looked = false;
  const auto look = [&] {
    if (++looks == 1) once.ask([&asker_looked] { asker_looked = true; }, kNothing);
  };
  once.ask(look, [&between] { ++between; });
  CHECK(looks == 2);
  CHECK(between == 1);
  CHECK_FALSE(asker_looked);
}

TEST_CASE("who is asked again at every look makes room for another one after 32 of them") {
  AskedOnce once;
  int looks = 0;
  int others = 0;
  const auto look = [&] {
    ++looks;
    once.ask([&others] { ++others; }, kNothing);
  };
  once.ask(look, kNothing);
  CHECK(looks == 33);
  CHECK(others == 1);
}

TEST_CASE("who asks when nobody looks any more looks himself") {
  AskedOnce once;
  int looks = 0;
  const auto look = [&looks] { ++looks; };
  once.ask(look, kNothing);
  once.ask(look, kNothing);
  CHECK(looks == 2);
}

}  // namespace
}  // namespace heddle::detail
