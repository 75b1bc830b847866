#include "engine/device/memory_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"

#include "engine/base/asan.h"

namespace heddle::device {
namespace {

using Catch::Matchers::Contains;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// That of the host, but without pages.
RawMemory host_segments() {
  RawMemory raw = host_memory();
  raw.pages = {};
  return raw;
}

TEST_CASE("blocks are aligned, apart from each other and usable in full") {
  MemoryPool pool("test", host_memory(), {});
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (const std::size_t bytes : {0UL, 1UL, 63UL, 64UL, 1000UL, 4097UL, 3 * kMiB}) {
    void* block = pool.allocate(bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    std::memset(block, 1, bytes);
    blocks.emplace_back(block, bytes);
  }
  for (const auto& [block, bytes] : blocks) pool.deallocate(block, bytes);
}

TEST_CASE("a block that was given back serves the next request of its class") {
  MemoryPool pool("test", host_memory(), {});
  const std::size_t bytes = GENERATE(std::size_t{100}, std::size_t{800'000}, 50 * kMiB);
  void* first = pool.allocate(bytes);
  pool.deallocate(first, bytes);
  void* second = pool.allocate(bytes - 1);
  CHECK(second == first);
  pool.deallocate(second, bytes - 1);
  CHECK(pool.statistics().hits == 1);
  CHECK(pool.statistics().misses == 1);
}

TEST_CASE("statistics tell live, cached and peak bytes") {
  MemoryPool pool("test", host_memory(), {});
  void* a = pool.allocate(1024);
  void* b = pool.allocate(2048);
  const std::size_t live = pool.statistics().live_bytes;
  const std::size_t reserved = live + pool.statistics().cached_bytes;
  CHECK(live >= 3072);
  pool.deallocate(a, 1024);
  CHECK(pool.statistics().live_bytes <= live - 1024);
  CHECK(pool.statistics().live_bytes + pool.statistics().cached_bytes == reserved);
  CHECK(pool.statistics().peak_bytes == live);
  CHECK(pool.statistics().peak_reserved_bytes == reserved);
  pool.deallocate(b, 2048);
  pool.trim();
  CHECK(pool.statistics().live_bytes == 0);
  CHECK(pool.statistics().cached_bytes == 0);
}

TEST_CASE("idle memory beyond the limit is given back, what has been idle for longest first") {
  MemoryPool pool("test", host_memory(), {.budget = SIZE_MAX, .cache_limit = 20 * kMiB});
  void* stale = pool.allocate(8 * kMiB);
  void* fresh = pool.allocate(16 * kMiB);
  pool.deallocate(stale, 8 * kMiB);
  pool.deallocate(fresh, 16 * kMiB);
  CHECK(pool.statistics().cached_bytes <= 20 * kMiB);
  CHECK(pool.allocate(16 * kMiB) == fresh);
  CHECK(pool.statistics().hits == 1);
  pool.deallocate(fresh, 16 * kMiB);
}

TEST_CASE("memory of which a part is live is kept, whatever the limit") {
  MemoryPool pool("test", host_memory(), {.budget = SIZE_MAX, .cache_limit = 0});
  void* small = pool.allocate(1000);
  void* other = pool.allocate(1000);
  pool.deallocate(other, 1000);
  CHECK(pool.statistics().cached_bytes > 0);
  std::memset(small, 1, 1000);
  pool.deallocate(small, 1000);
  CHECK(pool.statistics().cached_bytes == 0);
}

TEST_CASE("beyond the budget the pool is out of memory and says how it stands") {
  MemoryPool pool("gpu(7)", host_memory(), {.budget = 4 * kMiB, .cache_limit = SIZE_MAX});
  void* block = pool.allocate(3 * kMiB);
  std::string text;
  try {
    pool.allocate(2 * kMiB);
  } catch (const OutOfMemory& error) {
    text = error.what();
  }
  CHECK_THAT(text, Contains("gpu(7)") && Contains("2.0 MiB requested") &&
                       Contains("3.0 MiB live (0 B of it about to be freed)") &&
                       Contains("0 B cached") && Contains("largest to be had 1.0 MiB") &&
                       Contains("budget 4.0 MiB"));
  pool.deallocate(block, 3 * kMiB);
}

TEST_CASE("the pool stays usable after it was out of memory") {
  MemoryPool pool("test", host_memory(), {.budget = kMiB, .cache_limit = SIZE_MAX});
  CHECK_THROWS_AS(pool.allocate(2 * kMiB), OutOfMemory);
  void* block = pool.allocate(kMiB);
  CHECK(pool.statistics().live_bytes == kMiB);
  pool.deallocate(block, kMiB);
}

TEST_CASE("a request that no memory could serve is out of memory") {
  MemoryPool pool("test", host_memory(), {});
  CHECK_THROWS_AS(pool.allocate(SIZE_MAX), OutOfMemory);
}

TEST_CASE("a smaller request is cut from what came back") {
  MemoryPool pool("test", host_memory(), {.budget = 4 * kMiB, .cache_limit = SIZE_MAX});
  void* block = pool.allocate(3 * kMiB);
  pool.deallocate(block, 3 * kMiB);
  void* other = pool.allocate(2 * kMiB);
  CHECK(other == block);
  CHECK(pool.statistics().hits == 1);
  pool.deallocate(other, 2 * kMiB);
}

TEST_CASE("cached memory makes room for a larger request") {
  MemoryPool pool("test", host_memory(), {.budget = 4 * kMiB, .cache_limit = SIZE_MAX});
  void* block = pool.allocate(2 * kMiB);
  pool.deallocate(block, 2 * kMiB);
  void* other = pool.allocate(3 * kMiB);
  CHECK(pool.statistics().cached_bytes == 0);
  pool.deallocate(other, 3 * kMiB);
}

TEST_CASE("where memory cannot move a small request does not cut a large block") {
  MemoryPool pool("test", host_segments(), {.budget = 96 * kMiB, .cache_limit = SIZE_MAX});
  pool.deallocate(pool.allocate(64 * kMiB), 64 * kMiB);
  void* other = pool.allocate(8 * kMiB);
  void* large = pool.allocate(64 * kMiB);
  CHECK(pool.statistics().hits == 1);
  pool.deallocate(other, 8 * kMiB);
  pool.deallocate(large, 64 * kMiB);
}

TEST_CASE("what would fail otherwise is cut from wherever there is room") {
  MemoryPool pool("test", host_memory(), {.budget = kMiB, .cache_limit = SIZE_MAX});
  pool.deallocate(pool.allocate(kMiB), kMiB);
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (const std::size_t bytes : {20'000UL, 64UL, 300'000UL, 64UL}) {
    blocks.emplace_back(pool.allocate(bytes), bytes);
  }
  for (const auto& [block, bytes] : blocks) pool.deallocate(block, bytes);
  CHECK(pool.statistics().live_bytes == 0);
}

TEST_CASE("a larger block from a segment of small ones goes back there") {
  MemoryPool pool("test", host_memory(), {.budget = kMiB, .cache_limit = SIZE_MAX});
  std::vector<void*> small;
  std::vector<void*> large;
  for (int i = 0; i < 10; ++i) small.push_back(pool.allocate(1024));  // of one segment
  try {
    while (true) large.push_back(pool.allocate(16 * 1024));
  } catch (const OutOfMemory&) {
  }
  for (int i = 0; i < 8; ++i) {
    pool.deallocate(small.front(), 1024);
    small.erase(small.begin());
  }
  void* const odd = pool.allocate(5000);  // where the segment begins, as there is nothing else
  pool.deallocate(odd, 5000);
  const std::size_t live = pool.statistics().live_bytes;
  CHECK_THROWS_AS(pool.allocate(16 * 1024), OutOfMemory);  // the segment is not large memory again
  CHECK(pool.statistics().live_bytes == live);
  for (void* const block : small) pool.deallocate(block, 1024);
  for (void* const block : large) pool.deallocate(block, 16 * 1024);
  CHECK(pool.statistics().live_bytes == 0);
}

TEST_CASE("a budget of any size is cut into blocks that do not overlap") {
  const std::size_t budget = GENERATE(33UL * 1024, 257UL * 1024, 1000UL * 1024, 4'294'967UL);
  const bool paged = GENERATE(true, false);
  MemoryPool pool("test", paged ? host_memory() : host_segments(),
                  {.budget = budget, .cache_limit = SIZE_MAX});
  std::mt19937_64 random(budget);
  std::map<std::byte*, std::size_t> live;
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2 == 0 && !live.empty()) {
      const auto victim =
          std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      pool.deallocate(victim->first, victim->second);
      live.erase(victim);
      continue;
    }
    const std::size_t bytes = 1 + random() % (std::size_t{64} << random() % 11U);
    try {
      const auto place = live.emplace(static_cast<std::byte*>(pool.allocate(bytes)), bytes).first;
      if (place != live.begin()) {
        REQUIRE(std::prev(place)->first + std::prev(place)->second <= place->first);
      }
      if (std::next(place) != live.end()) REQUIRE(place->first + bytes <= std::next(place)->first);
    } catch (const OutOfMemory&) {
    }
  }
  for (const auto& [block, bytes] : live) pool.deallocate(block, bytes);
  CHECK(pool.statistics().live_bytes == 0);
}

TEST_CASE("there is room for the largest request that the statistics name") {
  const std::size_t budget = GENERATE(4 * kMiB + 100'000, 64 * kMiB, 999 * kMiB);
  MemoryPool pool("test", host_memory(), {.budget = budget, .cache_limit = SIZE_MAX});
  std::vector<void*> live;
  for (int i = 0; i < 20; ++i) live.push_back(pool.allocate(budget / 100));
  for (std::size_t i = 0; i < 20; i += 2) pool.deallocate(live[i], budget / 100);
  const std::size_t largest = pool.statistics().largest_bytes;
  CHECK(largest > budget / 2);
  pool.deallocate(pool.allocate(largest), largest);
  for (std::size_t i = 1; i < 20; i += 2) pool.deallocate(live[i], budget / 100);
}

TEST_CASE("neighbours that came back one by one are not fragmented") {
  MemoryPool pool("test", host_memory(), {});
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.allocate(kMiB));
  for (void* const block : blocks) pool.deallocate(block, kMiB);
  CHECK(pool.statistics().cached_bytes >= 100 * kMiB);
  CHECK(pool.statistics().fragmented_bytes == 0);
}

TEST_CASE("a request waits for memory that another one is about to add") {
  std::atomic<int> asked{0};
  const RawMemory slow = {[&](std::size_t bytes) {
                            ++asked;
                            std::this_thread::sleep_for(std::chrono::milliseconds(20));
                            return host_memory().allocate(bytes);
                          },
                          host_memory().release};
  constexpr std::size_t kSegment = 4096;
  constexpr std::size_t kRest = 15 * kSegment;
  MemoryPool pool("test", slow, {.budget = kRest + kSegment, .cache_limit = SIZE_MAX});
  void* rest = pool.allocate(kRest);
  std::thread first([&] { pool.deallocate(pool.allocate(64), 64); });
  while (asked.load() < 2) std::this_thread::yield();
  CHECK_NOTHROW(pool.deallocate(pool.allocate(64), 64));
  first.join();
  pool.deallocate(rest, kRest);
}

int g_refusals = 0;

TEST_CASE("a refusal of the memory below is retried once after a trim") {
  const RawMemory reluctant = {[](std::size_t bytes) noexcept -> void* {
                                 if (g_refusals-- > 0) return nullptr;
                                 return host_memory().allocate(bytes);
                               },
                               host_memory().release};
  MemoryPool pool("test", reluctant, {});
  g_refusals = 0;
  pool.deallocate(pool.allocate(1024), 1024);
  g_refusals = 1;
  void* block = pool.allocate(16 * kMiB);
  CHECK(pool.statistics().cached_bytes == 0);
  CHECK(pool.statistics().live_bytes == 16 * kMiB);
  pool.deallocate(block, 16 * kMiB);

  g_refusals = 2;
  CHECK_THROWS_AS(pool.allocate(32 * kMiB), OutOfMemory);
  CHECK(pool.statistics().live_bytes == 0);
}

TEST_CASE("threads may share a pool") {
  MemoryPool pool("test", host_memory(), {.budget = SIZE_MAX, .cache_limit = 0});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (std::size_t i = 0; i < 2000; ++i) {
        const std::size_t bytes = 1 + (i * 37 + t * 101) % 3000;
        void* block = pool.allocate(bytes);
        std::memset(block, static_cast<int>(t), bytes);
        pool.deallocate(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MemoryStatistics statistics = pool.statistics();
  CHECK(statistics.live_bytes == 0);
  CHECK(statistics.cached_bytes == 0);
  CHECK(statistics.hits + statistics.misses == 8000);
}

TEST_CASE("a block that is given back twice is named, and nothing else happens") {
  MemoryPool pool("test", host_memory(), {});
  const std::size_t bytes = GENERATE(std::size_t{100}, 3 * kMiB);
  const bool first_of_its_segment = GENERATE(true, false);
  void* const one = pool.allocate(bytes);
  void* const two = pool.allocate(bytes);
  void* const block = first_of_its_segment ? one : two;
  void* const other = first_of_its_segment ? two : one;
  pool.deallocate(block, bytes);
  const std::size_t live = pool.statistics().live_bytes;
  pool.deallocate(block, bytes);
  CHECK(pool.statistics().live_bytes == live);
  void* const again = pool.allocate(bytes);
  CHECK(pool.allocate(bytes) != again);
  std::memset(other, 1, bytes);
  pool.deallocate(other, bytes);
}

TEST_CASE("what is about to come back is told, and is live until then") {
  MemoryPool pool("test", host_memory(), {});
  void* const block = pool.allocate(1024);
  pool.expect(1024);
  CHECK(pool.statistics().pending_bytes == 1024);
  CHECK(pool.statistics().live_bytes >= 1024);
  pool.expect(-1024);
  pool.deallocate(block, 1024);
  CHECK(pool.statistics().pending_bytes == 0);
}

TEST_CASE("gaps between live blocks count as fragmented") {
  MemoryPool pool("test", host_segments(), {});
  constexpr std::size_t kLarge = 16 * kMiB;
  pool.deallocate(pool.allocate(kLarge), kLarge);
  CHECK(pool.statistics().fragmented_bytes == 0);
  void* const part = pool.allocate(kLarge / 2);
  CHECK(pool.statistics().fragmented_bytes == kLarge / 2);
  pool.deallocate(part, kLarge / 2);
}

TEST_CASE("a pool that fills hands out NaNs, whatever was there before") {
  MemoryPool pool("test", host_memory(),
                  {.budget = SIZE_MAX, .cache_limit = SIZE_MAX, .fills = true});
  const std::size_t count = GENERATE(std::size_t{25}, std::size_t{1} << 20U);
  const std::size_t bytes = count * sizeof(float);
  for (int round = 0; round < 2; ++round) {
    auto* const block = static_cast<float*>(pool.allocate(bytes));
    CHECK(std::all_of(block, block + count, [](float x) { return std::isnan(x); }));
    std::fill(block, block + count, 1.0F);
    pool.deallocate(block, bytes);
  }
}

#if !defined(HEDDLE_ASAN)
TEST_CASE("a pool that fills has NaNs in what has come back") {
  MemoryPool pool("test", host_memory(),
                  {.budget = SIZE_MAX, .cache_limit = SIZE_MAX, .fills = true});
  auto* const block = static_cast<float*>(pool.allocate(sizeof(float)));
  void* const other = pool.allocate(sizeof(float));  // so that the memory stays
  *block = 1;
  pool.deallocate(block, sizeof(float));
  CHECK(std::isnan(*block));
  pool.deallocate(block, sizeof(float));  // named as an error, and nothing is filled
  pool.deallocate(other, sizeof(float));
}
#endif

#if defined(HEDDLE_ASAN)
TEST_CASE("under AddressSanitizer a block is poisoned beyond its bytes and once it is given back") {
  MemoryPool pool("test", host_memory(), {});
  auto* block = static_cast<char*>(pool.allocate(100));
  CHECK_FALSE(base::is_poisoned(block + 99));
  CHECK(base::is_poisoned(block + 100));
  pool.deallocate(block, 100);
  CHECK(base::is_poisoned(block));
}
#endif

}  // namespace
}  // namespace heddle::device
