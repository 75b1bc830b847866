// Large blocks where memory comes and goes in segments.

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "engine/base/asan.h"
#include "engine/base/sync.h"
#include "engine/device/large_blocks.h"
#include "engine/device/segment_heap.h"

namespace heddle::device {
namespace {

/// Segments are multiples of this, unless that would waste more than 1 / kMostWaste of one.
constexpr std::size_t kStep = std::size_t{2} << 20U;
constexpr std::size_t kMostWaste = 8;

/// A block is cut for requests of no less than 1 / kMostCut of it while there is other memory.
constexpr std::size_t kMostCut = 2;

/// Invariants:
/// - Who asks for memory or gives some back holds growth_; mutex_, which guards the heap, is not
///   held meanwhile.
/// - Under growth_, reserved <= budget, also with what is being asked for.
class SegmentBlocks final : public LargeBlocks {
 public:
  SegmentBlocks(RawMemory raw, std::size_t budget) : raw_(std::move(raw)), budget_(budget) {}
  ~SegmentBlocks() override { trim(0); }

  std::byte* allocate(std::size_t size) noexcept override {
    if (std::byte* const block = take(size, kMostCut * size)) return block;
    const std::lock_guard growing(growth_);
    if (std::byte* const block = take(size, kMostCut * size)) return block;
    const std::size_t segment = segment_for(size);
    if (std::byte* const block = grow(size, segment)) return block;
    if (segment != size) {
      if (std::byte* const block = grow(size, size)) return block;
    }
    if (give_back_idle(0)) {
      if (std::byte* const block = grow(size, size)) return block;
    }
    return take(size, SIZE_MAX);
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
    give_back_idle(keep);
  }

  std::size_t good_segment() const noexcept override { return 4 * kStep; }
  std::size_t small_blocks_in_segment() const noexcept override { return 4; }

  std::size_t cached_bytes() const noexcept override {
    return cached_.load(std::memory_order_relaxed);
  }

  Statistics statistics() override {
    const std::lock_guard lock(mutex_);
    const std::size_t reserved = heap_.reserved_bytes();
    return {
        .live_bytes = heap_.live_bytes(),
        .reserved_bytes = reserved,
        .peak_reserved_bytes = peak_reserved_,
        .idle_bytes = heap_.idle_bytes(),
        .largest_bytes = std::max(heap_.largest_bytes(), budget_ - reserved + heap_.idle_bytes()),
        .misses = misses_};
  }

 private:
  std::byte* take(std::size_t size, std::size_t most) noexcept {
    const std::lock_guard lock(mutex_);
    std::byte* const block = heap_.take(size, most);
    publish();
    return block;
  }

  /// A block of a new segment, or null: of `segment` bytes if the budget has room for them.
  std::byte* grow(std::size_t size, std::size_t segment) noexcept {
    const std::size_t room = budget_ - reserved();
    if (size > room) return nullptr;
    segment = std::min(segment, room / kBlockAlignment * kBlockAlignment);
    auto* const begin = static_cast<std::byte*>(raw_.allocate(segment));
    if (begin == nullptr) return nullptr;
    if (raw_.is_host) base::poison(begin, segment);
    if (std::byte* const block = add({begin, segment}, size)) return block;
    give_back({begin, segment});
    return nullptr;
  }

  /// Null if there is no room even to write the segment down.
  std::byte* add(Segment segment, std::size_t size) noexcept try {
    const std::lock_guard lock(mutex_);
    heap_.add(segment);
    ++misses_;
    peak_reserved_ = std::max(peak_reserved_, heap_.reserved_bytes());
    std::byte* const block = heap_.take(size);
    publish();
    return block;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }

  /// Until at most `keep` bytes are cached. False if there was nothing to give back.
  bool give_back_idle(std::size_t keep) noexcept {
    const auto next = [&]() -> std::optional<Segment> {
      const std::lock_guard lock(mutex_);
      if (heap_.reserved_bytes() - heap_.live_bytes() <= keep) return std::nullopt;
      const std::optional<Segment> idle = heap_.remove_idle();
      publish();
      return idle;
    };
    bool any = false;
    for (; const std::optional<Segment> idle = next(); any = true) give_back(*idle);
    return any;
  }

  void give_back(Segment segment) noexcept {
    if (raw_.is_host) base::unpoison(segment.begin, segment.bytes);
    raw_.release(segment.begin, segment.bytes);
  }

  std::size_t reserved() const {
    const std::lock_guard lock(mutex_);
    return heap_.reserved_bytes();
  }

  static std::size_t segment_for(std::size_t size) {
    const std::size_t rounded = (size + kStep - 1) / kStep * kStep;
    return rounded - size <= size / kMostWaste ? rounded : size;
  }

  void publish() noexcept {
    cached_.store(heap_.reserved_bytes() - heap_.live_bytes(), std::memory_order_relaxed);
  }

  const RawMemory raw_;
  const std::size_t budget_;
  base::Mutex growth_;
  mutable base::Mutex mutex_;
  SegmentHeap heap_;
  std::size_t peak_reserved_ = 0;
  std::uint64_t misses_ = 0;
  base::Atomic<std::size_t> cached_{0};
};

}  // namespace

std::unique_ptr<LargeBlocks> make_segment_blocks(RawMemory raw, std::size_t budget) {
  return std::make_unique<SegmentBlocks>(std::move(raw), budget);
}

}  // namespace heddle::device
