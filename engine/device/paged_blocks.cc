// Large blocks where memory comes page by page, and moves to where it is wanted.

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "engine/base/asan.h"
#include "engine/base/sync.h"
#include "engine/device/large_blocks.h"
#include "engine/device/page_map.h"
#include "engine/device/segment_heap.h"

namespace heddle::device {
namespace {

/// A budget is of so many pages or more, if they may be that small.
constexpr std::size_t kPagesInBudget = 512;
/// With less, pages are too coarse.
constexpr std::size_t kLeastPages = 64;

/// Blocks of any size find a place in so many times the budget, or in so much more.
constexpr std::size_t kAddressesForBudget = 4;
constexpr std::size_t kSpareAddresses = std::size_t{1} << 36U;
constexpr std::size_t kMostBudget = std::size_t{1} << 44U;
constexpr std::size_t kAddressesWithoutBudget = std::size_t{1} << 38U;

/// Idle memory moves before more than 1 + 1 / kSpare times the most that was live is reserved, but
/// not for the sake of a few MiB.
constexpr std::size_t kSpare = 8;
constexpr std::size_t kLeastSpare = std::size_t{4} << 20U;

/// Invariants:
/// - Pages are mapped and unmapped under growth_ only. mutex_, which guards heap and page map, is
///   not held meanwhile.
/// - Before pages are unmapped they count as without memory, and after they have been mapped they
///   count as with memory; so what the heap takes for whole can be used.
/// - A block that waits for its pages is live, so no other one gets them.
/// - Under growth_, at most budget_ bytes are mapped, also with what is being mapped.
class PagedBlocks final : public LargeBlocks {
 public:
  PagedBlocks(RawMemory raw, Segment range, std::size_t page, std::size_t budget)
      : raw_(std::move(raw)),
        budget_(std::max(budget, budget + (page - 1)) / page * page),
        live_budget_(budget),
        pages_(range, page),
        heap_(pages_) {}

  ~PagedBlocks() override {
    trim(0);
    const Segment range = pages_.range();
    if (raw_.is_host) base::unpoison(range.begin, poisoned_);
    raw_.pages.abandon(range.begin, range.bytes);
  }

  std::byte* allocate(std::size_t size) noexcept override {
    if (std::byte* const block = take(size)) return block;
    const std::lock_guard growing(growth_);
    if (std::byte* const block = take(size)) return block;
    std::size_t missing = 0;
    std::byte* const block = take_hollow(size, missing);
    if (block == nullptr) return nullptr;
    const bool has_pages = make_room(missing) && fill({block, size});
    const std::lock_guard lock(mutex_);
    if (has_pages) {
      if (missing != 0) ++misses_;
      return block;
    }
    heap_.give_back_hollow(block);
    publish();
    return nullptr;
  }

  bool deallocate(const std::byte* block) noexcept override {
    const std::lock_guard lock(mutex_);
    const bool known = heap_.give_back(block);
    publish();
    return known;
  }

  bool is_live(const std::byte* block) noexcept override {
    const std::lock_guard lock(mutex_);
    return heap_.is_live(block);
  }

  void trim(std::size_t keep) noexcept override {
    const std::lock_guard growing(growth_);
    for (;;) {
      const std::size_t cached = cached_bytes();
      if (cached <= keep || unmap_idle(cached - keep) == 0) return;
    }
  }

  std::size_t good_segment() const noexcept override { return raw_.pages.good_page; }
  std::size_t small_blocks_in_segment() const noexcept override { return 16; }

  std::size_t cached_bytes() const noexcept override {
    return cached_.load(std::memory_order_relaxed);
  }

  Statistics statistics() override {
    const std::lock_guard lock(mutex_);
    return {.live_bytes = heap_.live_bytes(),
            .reserved_bytes = pages_.mapped_bytes(),
            .peak_reserved_bytes = peak_reserved_,
            .idle_bytes = heap_.idle_bytes(),
            .largest_bytes = std::min(budget_ - pages_.mapped_bytes() + heap_.idle_bytes(),
                                      live_budget_ - std::min(live_budget_, heap_.live_bytes())),
            .misses = misses_};
  }

 private:
  std::byte* take(std::size_t size) noexcept {
    const std::lock_guard lock(mutex_);
    if (!has_budget(size)) return nullptr;
    std::byte* const block = heap_.take(size);
    publish();
    return block;
  }

  bool has_budget(std::size_t size) const noexcept {
    return heap_.live_bytes() + size <= live_budget_;
  }

  /// A block that lacks `missing` bytes of pages.
  std::byte* take_hollow(std::size_t size, std::size_t& missing) noexcept {
    const std::lock_guard lock(mutex_);
    std::byte* const block = has_budget(size) ? heap_.take_hollow(size) : nullptr;
    if (block != nullptr) missing = pages_.missing({block, size});
    publish();
    return block;
  }

  /// What may be reserved while there is idle memory that can move.
  std::size_t allowance() const noexcept {
    const std::size_t peak = std::max(peak_live_, heap_.live_bytes());
    return std::min(budget_, peak + std::max(peak / kSpare, std::min(kLeastSpare, budget_ / 16)));
  }

  /// Before `missing` bytes more are mapped: unmaps as many idle ones, if there are, and if more
  /// than what may be reserved would be otherwise. False if the budget does not allow the rest.
  bool make_room(std::size_t missing) noexcept {
    std::size_t unmapped = 0;
    for (;;) {
      std::size_t mapped = 0;
      std::size_t most = 0;
      {
        const std::lock_guard lock(mutex_);
        mapped = pages_.mapped_bytes() + missing;
        most = allowance();
        if (mapped > budget_ && mapped - budget_ > heap_.idle_bytes()) return false;
      }
      if (mapped <= most || (mapped <= budget_ && unmapped >= missing)) return true;
      const std::size_t idle = unmap_idle(mapped - most);
      if (idle == 0) return mapped <= budget_;
      unmapped += idle;
    }
  }

  /// Gives a block its pages. False if there is no memory for all of them.
  bool fill(Segment block) noexcept {
    for (;;) {
      const Segment run = [&] {
        const std::lock_guard lock(mutex_);
        return pages_.first_missing(block);
      }();
      if (run.bytes == 0) return true;
      if (!raw_.pages.map(run.begin, run.bytes)) {
        if (unmap_idle(run.bytes) == 0) return false;
        continue;
      }
      if (raw_.is_host) base::poison(run.begin, run.bytes);
      const std::lock_guard lock(mutex_);
      const auto end = static_cast<std::size_t>(run.begin - pages_.range().begin) + run.bytes;
      poisoned_ = std::max(poisoned_, end);
      pages_.set(run, /*mapped=*/true);
      publish();
    }
  }

  /// At most `most` bytes, rounded up; how many, 0: no page is idle. They stay poisoned.
  std::size_t unmap_idle(std::size_t most) noexcept {
    const Segment idle = [&] {
      const std::lock_guard lock(mutex_);
      const Segment pages = heap_.hollow_out(most);
      publish();
      return pages;
    }();
    if (idle.bytes != 0) raw_.pages.unmap(idle.begin, idle.bytes);
    return idle.bytes;
  }

  void publish() noexcept {
    const std::size_t live = heap_.live_bytes();
    const std::size_t mapped = pages_.mapped_bytes();
    peak_live_ = std::max(peak_live_, live);
    peak_reserved_ = std::max(peak_reserved_, mapped);
    cached_.store(mapped > live ? mapped - live : 0, std::memory_order_relaxed);
  }

  const RawMemory raw_;
  const std::size_t budget_;       // of pages
  const std::size_t live_budget_;  // of blocks
  base::Mutex growth_;
  base::Mutex mutex_;
  PageMap pages_;
  SegmentHeap heap_;
  std::size_t poisoned_ = 0;  ///< from the begin of the range on, all that ever had memory
  std::size_t peak_live_ = 0;
  std::size_t peak_reserved_ = 0;
  std::uint64_t misses_ = 0;
  base::Atomic<std::size_t> cached_{0};
};

}  // namespace

std::unique_ptr<LargeBlocks> make_paged_blocks(RawMemory raw, std::size_t budget) {
  const PagedMemory& pages = raw.pages;
  if (pages.least_page == 0 || budget / kLeastPages < pages.least_page) return nullptr;
  const std::size_t page =
      std::clamp(std::bit_floor(budget / kPagesInBudget), pages.least_page, pages.good_page);
  const bool is_limited = budget <= kMostBudget;
  const std::size_t least = is_limited ? budget : kAddressesWithoutBudget;
  std::size_t spare =
      is_limited ? std::min(budget * (kAddressesForBudget - 1), kSpareAddresses) : 0;
  for (;; spare /= 2) {
    const std::size_t whole = (least + spare + page - 1) / page * page;
    if (auto* const begin = static_cast<std::byte*>(pages.reserve(whole))) {
      return std::make_unique<PagedBlocks>(std::move(raw), Segment{begin, whole}, page, budget);
    }
    if (spare < least / 4) return nullptr;
  }
}

}  // namespace heddle::device
