#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "engine/device/page_map.h"
#include "engine/device/size_class.h"

namespace heddle::device {

/// Cuts blocks from segments, joins neighbours that came back, and knows what is where. It never
/// touches the memory, which may be a GPU's.
///
/// A block that comes back is *kept*: the next request of its size gets it as it is, the last one
/// first. Only if nothing fits are all kept blocks joined with their free neighbours.
///
/// Where the memory comes page by page, as a PageMap tells, a free block may be *hollow*: it lacks
/// some of its pages. The owner of the heap gives them to it, or takes them from others.
///
/// Not thread-safe.
///
/// Invariants:
/// - Every segment is cut into blocks without gaps, linked in the order of their addresses; blocks_
///   holds exactly these. Sizes are multiples of 64.
/// - A block is live, kept (in kept_, of the class of its size) or free (in free_ or hollow_,
///   likewise), and no two neighbours are free.
/// - Bit c of a Lists' `filled` is set iff its list c is not empty. A block of class c or more
///   serves any request whose size is that of class c.
/// - Blocks that are not in hollow_ have all their pages, live ones as soon as the owner has given
///   them these.
/// - A segment is in idle_ iff none of its blocks is live, else in busy_. idle_ is in the order in
///   which the last block came back.
class SegmentHeap {
 public:
  SegmentHeap() = default;
  /// With the range of `pages`, which outlives the heap, as the only segment.
  explicit SegmentHeap(PageMap& pages);
  SegmentHeap(const SegmentHeap&) = delete;
  SegmentHeap& operator=(const SegmentHeap&) = delete;

  /// A block of `size`, a block_size(), that was one or is cut from one of at most `most` bytes;
  /// null if there is none. It is larger only if there is no memory to write down what is left.
  std::byte* take(std::size_t size, std::size_t most = SIZE_MAX) noexcept;
  /// The same of a hollow block: the caller sees to the pages that are missing. It is never larger.
  std::byte* take_hollow(std::size_t size) noexcept;
  /// Of a block that was taken; false if no such block is live.
  bool give_back(const std::byte* block) noexcept;
  bool is_live(const std::byte* block) const noexcept;
  /// Whether a block, live or not, begins there.
  bool begins(const std::byte* at) const noexcept { return blocks_.contains(at); }
  /// Of a block that has not got its pages.
  void give_back_hollow(const std::byte* block) noexcept;

  /// Throws std::bad_alloc, and has not got the segment then.
  void add(Segment segment);
  /// Gives up the segment that has been idle for longest; none if there is no idle one.
  std::optional<Segment> remove_idle() noexcept;
  /// Pages without a live block, in a row, of the block with such pages that came back longest ago,
  /// or of several that are joined if none has any: at most `most` bytes of them, rounded up. They
  /// count as without memory from now on. Empty if there are none.
  Segment hollow_out(std::size_t most) noexcept;

  std::size_t live_bytes() const noexcept { return live_bytes_; }
  /// All segments.
  std::size_t reserved_bytes() const noexcept { return reserved_bytes_; }
  /// The largest block that is not live and not hollow, as they lie now.
  std::size_t largest_bytes() const noexcept;
  /// All segments, or all pages with memory, without a live block.
  std::size_t idle_bytes() const noexcept;

 private:
  struct Owner {
    Segment segment;
    std::size_t live_blocks = 0;
  };
  using Owners = std::list<Owner>;
  enum class State : unsigned char { kLive, kKept, kFree, kHollow };
  struct Block {
    std::byte* begin = nullptr;
    std::size_t size = 0;
    Block* before = nullptr;  // its neighbours in the segment
    Block* after = nullptr;
    Block* newer = nullptr;  // in the list that it is in, if any
    Block* older = nullptr;
    Owners::iterator owner;
    std::uint64_t idle_since = 0;  // a count of what came back, for those that are not live
    State state = State::kLive;
  };
  /// Blocks by class, in lists of which it has the newest ones.
  struct Lists {
    std::array<Block*, kSizeClasses> newest{};
    std::array<std::uint64_t, kSizeClasses / 64 + 1> filled{};

    void add(Block& block) noexcept;
    void remove(Block& block) noexcept;
    std::size_t first_class(std::size_t least) const noexcept;
    Block* find(std::size_t size) const noexcept;
    Block* largest() const noexcept;
  };

  Lists& lists(State state) noexcept;
  std::byte* go_live(Block& block) noexcept;
  void leave(Block& block) noexcept;
  void put(Block& block, State state) noexcept;
  void remove(Block& block) noexcept { lists(block.state).remove(block); }
  Block* longest_idle() const noexcept;
  void cut(Block& block, std::size_t size) noexcept;
  State state_of(const Block& free_block) const noexcept;
  void free(Block& block) noexcept;
  void absorb_next(Block& block) noexcept;
  void free_kept() noexcept;

  std::unordered_map<const std::byte*, Block> blocks_;  // by their begin
  Owners busy_;
  Owners idle_;
  Lists kept_;
  Lists free_;
  Lists hollow_;
  PageMap* const pages_ = nullptr;  // null: memory comes by segments
  bool has_kept_ = false;           // there may be kept blocks
  std::uint64_t given_back_ = 0;    // how many blocks
  std::size_t live_bytes_ = 0;
  std::size_t reserved_bytes_ = 0;
};

}  // namespace heddle::device
