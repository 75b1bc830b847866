#include "engine/device/segment_heap.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::device {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// Addresses that are never touched.
Segment segment(std::size_t number, std::size_t bytes) {
  return {reinterpret_cast<std::byte*>((number + 1) * std::size_t{1} << 30U), bytes};
}

TEST_CASE("a heap without segments has no block") {
  SegmentHeap heap;
  CHECK(heap.take(64) == nullptr);
  CHECK_FALSE(heap.remove_idle());
}

TEST_CASE("blocks are cut from a segment one beside the other") {
  SegmentHeap heap;
  heap.add(segment(0, kMiB));
  std::byte* const first = heap.take(1024);
  CHECK(first == segment(0, kMiB).begin);
  CHECK(heap.take(64) == first + 1024);
  CHECK(heap.live_bytes() == 1088);
  CHECK(heap.reserved_bytes() == kMiB);
}

TEST_CASE("the block of a size that came back last goes out first") {
  SegmentHeap heap;
  heap.add(segment(0, kMiB));
  std::byte* const a = heap.take(1024);
  std::byte* const b = heap.take(1024);
  heap.give_back(a);
  heap.give_back(b);
  CHECK(heap.take(1024) == b);
  CHECK(heap.take(1024) == a);
}

TEST_CASE("neighbours that came back are joined for a request that none of them serves") {
  SegmentHeap heap;
  heap.add(segment(0, 4096));
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(heap.take(1024));
  CHECK(heap.take(2048) == nullptr);
  const auto order = GENERATE(std::vector{1U, 2U}, std::vector{2U, 1U});
  for (const unsigned i : order) heap.give_back(blocks[i]);
  CHECK(heap.take(2048) == blocks[1]);
  CHECK(heap.take(64) == nullptr);
}

TEST_CASE("a segment is given up when none of its blocks is live, the one idle for longest first") {
  SegmentHeap heap;
  heap.add(segment(0, 1024));
  heap.add(segment(1, 2048));
  std::byte* const small = heap.take(1024);
  std::byte* const large = heap.take(2048);
  CHECK_FALSE(heap.remove_idle());
  heap.give_back(large);
  heap.give_back(small);
  CHECK(heap.remove_idle()->bytes == 2048);
  CHECK(heap.remove_idle()->bytes == 1024);
  CHECK_FALSE(heap.remove_idle());
  CHECK(heap.reserved_bytes() == 0);
  CHECK(heap.take(64) == nullptr);
}

/// Takes and gives back at random, as long as what is live stays below `most`; returns the most
/// that was reserved over the most that was live.
double random_program(std::uint64_t seed, const std::vector<std::size_t>& sizes, std::size_t most) {
  std::mt19937_64 random(seed);
  SegmentHeap heap;
  std::map<std::byte*, std::size_t> live;  // begin, size
  std::size_t segments = 0;
  std::size_t peak = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = block_size(sizes[random() % sizes.size()]);
    while (heap.live_bytes() + size > most) {
      const auto victim =
          std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      heap.give_back(victim->first);
      live.erase(victim);
    }
    std::byte* block = heap.take(size);
    if (block == nullptr) {
      heap.add(segment(segments++, 8 * kMiB));
      block = heap.take(size);
    }
    const auto [place, is_new] = live.emplace(block, size);
    REQUIRE(is_new);
    if (place != live.begin()) {
      REQUIRE(std::prev(place)->first + std::prev(place)->second <= block);
    }
    if (std::next(place) != live.end()) REQUIRE(block + size <= std::next(place)->first);
    peak = std::max(peak, heap.live_bytes());
  }
  const std::size_t reserved = heap.reserved_bytes();
  for (const auto& [block, size] : live) heap.give_back(block);
  CHECK(heap.live_bytes() == 0);
  while (heap.remove_idle()) --segments;
  CHECK(segments == 0);
  return static_cast<double>(reserved) / static_cast<double>(peak);
}

TEST_CASE("random programs get blocks that do not overlap, and every segment comes back") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 8)));
  CAPTURE(seed);
  random_program(seed, {1, 64, 100, 1000, 5000, 70'000, 300'000, 2 * kMiB}, 48 * kMiB);
}

TEST_CASE("with sizes of all kinds in any order less than half as much again is reserved") {
  std::mt19937_64 random(7);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 1000; ++i)
    sizes.push_back(1 + random() % (std::size_t{64} << random() % 14U));
  CHECK(random_program(2, sizes, 64 * kMiB) < 1.5);
}

}  // namespace
}  // namespace heddle::device
