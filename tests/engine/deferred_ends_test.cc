#include "engine/deferred_ends.h"

#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

using heddle::detail::DeferredEnds;

TEST_CASE("ends that were deferred are there for one that takes note of them") {
  DeferredEnds deferred;
  CHECK_FALSE(deferred.take());
  deferred.add();
  deferred.add();
  CHECK(deferred.take());
  CHECK_FALSE(deferred.take());
}

TEST_CASE("ends are overdue some time after the oldest was deferred") {
  DeferredEnds deferred;
  CHECK_FALSE(deferred.are_overdue());
  deferred.add();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  deferred.add();
  CHECK(deferred.are_overdue());
  CHECK(deferred.take());
  CHECK_FALSE(deferred.are_overdue());
}
