#include "engine/device/memory_pool.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"

#include "engine/base/asan.h"

namespace heddle::device {
namespace {

using Catch::Matchers::Contains;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

TEST_CASE("size classes are four per power of two") {
  CHECK(MemoryPool::class_size(0) == 64);
  CHECK(MemoryPool::class_size(64) == 64);
  CHECK(MemoryPool::class_size(65) == 128);
  CHECK(MemoryPool::class_size(256) == 256);
  CHECK(MemoryPool::class_size(257) == 320);
  CHECK(MemoryPool::class_size(512) == 512);
  CHECK(MemoryPool::class_size(513) == 640);
  CHECK(MemoryPool::class_size(50 * kMiB) == 56 * kMiB);
}

TEST_CASE("a size class holds what it serves, is its own class, and wastes at most a quarter") {
  bool holds = true;
  bool fixed = true;
  bool thrifty = true;
  for (std::size_t bytes = 257; bytes < 100'000; bytes += 7) {
    const std::size_t size = MemoryPool::class_size(bytes);
    holds = holds && size >= bytes && size % 64 == 0;
    fixed = fixed && MemoryPool::class_size(size) == size;
    thrifty = thrifty && size - bytes <= bytes / 4;
  }
  CHECK(holds);
  CHECK(fixed);
  CHECK(thrifty);
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
  CHECK(pool.statistics().live_bytes == 3072);
  pool.deallocate(a, 1024);
  CHECK(pool.statistics().live_bytes == 2048);
  CHECK(pool.statistics().cached_bytes == 1024);
  CHECK(pool.statistics().peak_bytes == 3072);
  pool.deallocate(b, 2048);
  pool.trim();
  CHECK(pool.statistics().live_bytes == 0);
  CHECK(pool.statistics().cached_bytes == 0);
}

TEST_CASE("the cache stays below its limit and drops the class that was used least recently") {
  MemoryPool pool("test", host_memory(), {.budget = SIZE_MAX, .cache_limit = 4096});
  void* stale = pool.allocate(2048);
  void* fresh = pool.allocate(3072);
  pool.deallocate(stale, 2048);
  pool.deallocate(fresh, 3072);
  CHECK(pool.statistics().cached_bytes == 3072);
  CHECK(pool.allocate(3072) == fresh);
  pool.deallocate(fresh, 3072);
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
                       Contains("3.0 MiB live") && Contains("0 B cached") &&
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

TEST_CASE("cached blocks make room for a request of another class") {
  MemoryPool pool("test", host_memory(), {.budget = 4 * kMiB, .cache_limit = SIZE_MAX});
  void* block = pool.allocate(3 * kMiB);
  pool.deallocate(block, 3 * kMiB);
  void* other = pool.allocate(2 * kMiB);
  CHECK(pool.statistics().cached_bytes == 0);
  pool.deallocate(other, 2 * kMiB);
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
  void* block = pool.allocate(4096);
  CHECK(pool.statistics().cached_bytes == 0);
  CHECK(pool.statistics().live_bytes == 4096);
  pool.deallocate(block, 4096);

  g_refusals = 2;
  CHECK_THROWS_AS(pool.allocate(1024), OutOfMemory);
  CHECK(pool.statistics().live_bytes == 0);
}

TEST_CASE("threads may share a pool") {
  MemoryPool pool("test", host_memory(), {.budget = SIZE_MAX, .cache_limit = 8192});
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
  const PoolStatistics statistics = pool.statistics();
  CHECK(statistics.live_bytes == 0);
  CHECK(statistics.cached_bytes <= 8192);
  CHECK(statistics.hits + statistics.misses == 8000);
}

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
