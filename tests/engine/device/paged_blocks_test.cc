#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/device/large_blocks.h"
#include "engine/device/size_class.h"

namespace heddle::device {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kPage = std::size_t{1} << 16U;

/// Addresses that are never touched; knows which of their pages have memory, and fails a test that
/// maps one twice or unmaps one that has none.
class FakePages {
 public:
  RawMemory raw() {
    return {.allocate = [](std::size_t) { return nullptr; },
            .release = [](void*, std::size_t) {},
            .is_host = false,
            .pages = {.least_page = kPage,
                      .good_page = kPage,
                      .reserve = [this](std::size_t bytes) { return reserve(bytes); },
                      .abandon = [this](void*, std::size_t) { abandoned_ = mapped_.empty(); },
                      .map = [this](void* at, std::size_t bytes) { return map(at, bytes); },
                      .unmap = [this](void* at, std::size_t bytes) { unmap(at, bytes); }}};
  }
  /// How many bytes of memory there are; SIZE_MAX: no limit.
  std::size_t most = SIZE_MAX;
  std::size_t most_addresses = SIZE_MAX;

  bool has_memory(const std::byte* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto begin = reinterpret_cast<std::uintptr_t>(block) / kPage;
    const auto last = (reinterpret_cast<std::uintptr_t>(block) + bytes - 1) / kPage;
    for (auto page = begin; page <= last; ++page) {
      if (!mapped_.contains(page)) return false;
    }
    return true;
  }
  std::size_t mapped_bytes() {
    const std::lock_guard lock(mutex_);
    return mapped_.size() * kPage;
  }
  bool is_sound() const { return is_sound_; }
  /// With no page left mapped.
  bool abandoned() const { return abandoned_; }

 private:
  void* reserve(std::size_t bytes) const {
    if (bytes > most_addresses) return nullptr;
    return reinterpret_cast<void*>(std::uintptr_t{1} << 40U);
  }
  bool map(void* at, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (mapped_.size() * kPage + bytes > most) return false;
    const auto first = reinterpret_cast<std::uintptr_t>(at) / kPage;
    for (std::size_t i = 0; i < bytes / kPage; ++i) {
      if (!mapped_.emplace(first + i, true).second) is_sound_ = false;
    }
    return true;
  }
  void unmap(void* at, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto first = reinterpret_cast<std::uintptr_t>(at) / kPage;
    for (std::size_t i = 0; i < bytes / kPage; ++i) {
      if (mapped_.erase(first + i) != 1) is_sound_ = false;
    }
  }

  std::mutex mutex_;
  std::map<std::uintptr_t, bool> mapped_;
  bool is_sound_ = true;
  bool abandoned_ = false;
};

TEST_CASE("a block has memory on all pages that it touches") {
  FakePages pages;
  const auto blocks = make_paged_blocks(pages.raw(), 64 * kMiB);
  std::vector<std::byte*> live;
  for (const std::size_t size : {kPage / 2, kPage, 3 * kPage + 64, 5 * kMiB}) {
    std::byte* const block = blocks->allocate(size);
    REQUIRE(block != nullptr);
    CHECK(pages.has_memory(block, size));
    live.push_back(block);
  }
  for (const std::byte* const block : live) CHECK(blocks->deallocate(block));
}

TEST_CASE("memory of blocks that came back moves to a block that fits none of their places") {
  FakePages pages;
  const auto blocks = make_paged_blocks(pages.raw(), 16 * kMiB);
  std::vector<std::byte*> live;
  for (int i = 0; i < 16; ++i) live.push_back(blocks->allocate(kMiB));
  for (std::size_t i = 0; i < 16; i += 2) blocks->deallocate(live[i]);
  std::byte* const large = blocks->allocate(8 * kMiB);  // eight gaps of 1 MiB
  REQUIRE(large != nullptr);
  CHECK(pages.has_memory(large, 8 * kMiB));
  for (std::size_t i = 1; i < 16; i += 2) CHECK(pages.has_memory(live[i], kMiB));
  CHECK(pages.mapped_bytes() <= 16 * kMiB);
  CHECK(pages.is_sound());
  CHECK(blocks->allocate(kMiB) == nullptr);
}

TEST_CASE("what came back longest ago loses its memory first") {
  FakePages pages;
  const auto blocks = make_paged_blocks(pages.raw(), 64 * kMiB);
  std::byte* const first = blocks->allocate(4 * kMiB);
  std::byte* const gap = blocks->allocate(kMiB);
  std::byte* const second = blocks->allocate(4 * kMiB);
  blocks->deallocate(second);
  blocks->deallocate(first);
  blocks->trim(4 * kMiB);
  CHECK(pages.has_memory(first, 4 * kMiB));
  CHECK_FALSE(pages.has_memory(second + kPage, 4 * kMiB - 2 * kPage));
  CHECK(pages.has_memory(gap, kMiB));
}

TEST_CASE("idle memory makes up for memory that there is not") {
  FakePages pages;
  const auto blocks = make_paged_blocks(pages.raw(), 64 * kMiB);
  pages.most = 8 * kMiB;  // others have the rest of the budget
  std::byte* const a = blocks->allocate(4 * kMiB);
  std::byte* const b = blocks->allocate(2 * kMiB);
  blocks->deallocate(a);
  std::byte* const c = blocks->allocate(6 * kMiB);
  REQUIRE(c != nullptr);
  CHECK(pages.has_memory(b, 2 * kMiB));
  CHECK(pages.has_memory(c, 6 * kMiB));
  CHECK(blocks->allocate(kMiB) == nullptr);
  blocks->deallocate(b);
  CHECK(blocks->allocate(kMiB) != nullptr);
}

TEST_CASE("a request that fails leaves everything as it was") {
  FakePages pages;
  pages.most = 4 * kMiB;
  const auto blocks = make_paged_blocks(pages.raw(), 64 * kMiB);
  CHECK(blocks->allocate(8 * kMiB) == nullptr);
  CHECK(blocks->statistics().live_bytes == 0);
  CHECK(blocks->allocate(4 * kMiB) != nullptr);
  CHECK(pages.is_sound());
}

TEST_CASE("more than the budget is refused, also where pages are larger than the rest of it") {
  FakePages pages;
  const std::size_t budget = 64 * kPage + 1000;
  const auto blocks = make_paged_blocks(pages.raw(), budget);
  CHECK(blocks->allocate(block_size(65 * kPage)) == nullptr);
  CHECK(blocks->allocate(64 * kPage) != nullptr);
  CHECK(blocks->allocate(1024) == nullptr);
}

TEST_CASE("where there are few addresses a pool does with what there is, or has no pages") {
  FakePages pages;
  pages.most_addresses = 100 * kMiB;
  CHECK(make_paged_blocks(pages.raw(), 64 * kMiB) != nullptr);
  CHECK(make_paged_blocks(pages.raw(), 128 * kMiB) == nullptr);
}

TEST_CASE("a budget of few pages is none for pages") {
  FakePages pages;
  CHECK(make_paged_blocks(pages.raw(), 10 * kPage) == nullptr);
}

TEST_CASE("all pages are given back in the end") {
  FakePages pages;
  {
    const auto blocks = make_paged_blocks(pages.raw(), 64 * kMiB);
    blocks->deallocate(blocks->allocate(5 * kMiB));
  }
  CHECK(pages.abandoned());
}

/// What is live, of all threads.
class Live {
 public:
  static constexpr std::size_t kMost = 24 * kMiB;

  bool has_room(std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (bytes_ + size > kMost) return false;
    bytes_ += size;
    return true;
  }
  void add(std::byte* block, std::size_t size) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = blocks_.emplace(block, size);
    const auto next = std::next(place);
    is_sound_ =
        is_sound_ && is_new && (next == blocks_.end() || block + size <= next->first) &&
        (place == blocks_.begin() || std::prev(place)->first + std::prev(place)->second <= block);
  }
  void remove(std::byte* block) {
    const std::lock_guard lock(mutex_);
    bytes_ -= blocks_.extract(block).mapped();
  }
  /// No block ever overlapped another one.
  bool is_sound() const { return is_sound_; }

 private:
  std::mutex mutex_;
  std::map<std::byte*, std::size_t> blocks_;  // begin, size
  std::size_t bytes_ = 0;
  bool is_sound_ = true;
};

TEST_CASE("threads get blocks with memory that do not overlap") {
  FakePages pages;
  const auto blocks = make_paged_blocks(pages.raw(), 32 * kMiB);
  Live live;
  std::atomic<int> without_memory{0};
  const auto work = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte*> own;
    const auto give_back = [&] {
      live.remove(own.back());
      blocks->deallocate(own.back());
      own.pop_back();
    };
    for (int i = 0; i < 4000; ++i) {
      const std::size_t size = block_size(kPage / 8 + random() % (kPage << random() % 6U));
      if (random() % 2 == 0 && live.has_room(size)) {
        own.push_back(blocks->allocate(size));
        if (own.back() == nullptr || !pages.has_memory(own.back(), size)) ++without_memory;
        live.add(own.back(), size);
      } else if (!own.empty()) {
        std::swap(own[random() % own.size()], own.back());
        give_back();
        if (random() % 500 == 0) blocks->trim(0);
      }
    }
    while (!own.empty()) give_back();
  };
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  CHECK(without_memory == 0);
  CHECK(live.is_sound());
  CHECK(pages.is_sound());
  CHECK(blocks->statistics().live_bytes == 0);
  blocks->trim(0);
  CHECK(pages.mapped_bytes() == 0);
}

}  // namespace
}  // namespace heddle::device
