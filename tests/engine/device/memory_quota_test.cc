#include "engine/device/memory_quota.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"

#include "engine/device/quantity.h"

namespace heddle::device {
namespace {

using Catch::Matchers::Equals;

TEST_CASE("what is taken from a quota leaves less room until it is given back") {
  MemoryQuota quota("gpu(3)", 1000);
  CHECK(quota.room() == 1000);
  quota.take(600);
  quota.take(400);
  CHECK(quota.live_bytes() == 1000);
  CHECK(quota.room() == 0);
  quota.give_back(600);
  CHECK(quota.live_bytes() == 400);
  CHECK(quota.room() == 600);
}

TEST_CASE("more than is left of a quota is refused by name, and nothing is taken") {
  MemoryQuota quota("gpu(3)", std::size_t{4} << 20U);
  quota.take(std::size_t{3} << 20U);
  CHECK_THROWS_WITH(
      quota.take(std::size_t{3} << 19U),
      Equals("[gpu(3)] out of memory: 1.5 MiB requested, 3.0 MiB live, quota 4.0 MiB"));
  CHECK_THROWS_AS(quota.take(SIZE_MAX), OutOfMemory);
  CHECK(quota.room() == std::size_t{1} << 20U);
  quota.take(std::size_t{1} << 20U);
  quota.take(0);
}

TEST_CASE("threads together never have more than the quota") {
  constexpr std::size_t kQuota = 10;
  MemoryQuota quota("gpu(0)", kQuota);
  std::vector<std::thread> threads;
  std::vector<std::size_t> most(4, 0);
  for (std::size_t& seen : most) {
    threads.emplace_back([&quota, &seen] {
      for (int i = 0; i < 10000; ++i) {
        try {
          quota.take(4);
        } catch (const OutOfMemory&) {
          continue;
        }
        seen = std::max(seen, quota.live_bytes());
        quota.give_back(4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t seen : most) CHECK(seen <= kQuota);
  CHECK(quota.live_bytes() == 0);
}

TEST_CASE("sizes are written in the unit that suits them") {
  CHECK(size_text(0) == "0 B");
  CHECK(size_text(1023) == "1023 B");
  CHECK(size_text(1536) == "1.5 KiB");
  CHECK(size_text(std::size_t{80} << 30U) == "80.0 GiB");
  CHECK(size_text(std::size_t{3} << 50U) == "3072.0 TiB");
}

}  // namespace
}  // namespace heddle::device
