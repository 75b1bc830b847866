#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "engine/device/size_class.h"

namespace heddle::device {

/// A piece of memory from which blocks are cut.
struct Segment {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

/// Cuts blocks from segments, joins neighbours that came back, and knows what is where. It never
/// touches the memory, which may be a GPU's.
///
/// A block that comes back is *kept*: the next request of its size gets it as it is, the last one
/// first. Only if nothing fits are all kept blocks joined with their free neighbours.
///
/// Not thread-safe.
///
/// Invariants:
/// - Every segment is cut into blocks without gaps, linked in the order of their addresses; blocks_
///   holds exactly these. Sizes are multiples of 64.
/// - A block is live, kept (in kept_, of the class of its size) or free (in free_, likewise), and
///   no two neighbours are free.
/// - Bit c of has_free_ is set iff free_[c] is not empty. A block of class c or more serves any
///   request whose size is that of class c.
/// - A segment is in idle_ iff none of its blocks is live, else in busy_. idle_ is in the order in
///   which the last block came back.
class SegmentHeap {
 public:
  SegmentHeap() = default;
  SegmentHeap(const SegmentHeap&) = delete;
  SegmentHeap& operator=(const SegmentHeap&) = delete;

  /// A block of `size`, a block_size(), that was one or is cut from one of at most `most` bytes;
  /// null if there is none. It is larger only if there is no memory to write down what is left.
  std::byte* take(std::size_t size, std::size_t most = SIZE_MAX) noexcept;
  /// Of a block that take() returned; false if this heap has no such block.
  bool give_back(const std::byte* block) noexcept;

  /// Throws std::bad_alloc, and has not got the segment then.
  void add(Segment segment);
  /// Gives up the segment that has been idle for longest; none if there is no idle one.
  std::optional<Segment> remove_idle() noexcept;
  bool has_idle() const noexcept { return !idle_.empty(); }

  std::size_t live_bytes() const noexcept { return live_bytes_; }
  /// All segments.
  std::size_t reserved_bytes() const noexcept { return reserved_bytes_; }

 private:
  struct Owner {
    Segment segment;
    std::size_t live_blocks = 0;
  };
  using Owners = std::list<Owner>;
  enum class State : unsigned char { kLive, kKept, kFree };
  struct Block {
    std::byte* begin = nullptr;
    std::size_t size = 0;
    Block* before = nullptr;  // its neighbours in the segment
    Block* after = nullptr;
    Block* newer = nullptr;  // in the list that it is in, if any
    Block* older = nullptr;
    Owners::iterator owner;
    State state = State::kLive;
  };
  using Lists = std::array<Block*, kSizeClasses>;  // the newest of each

  Block* find(std::size_t size, std::size_t most) const noexcept;
  std::size_t first_free_class(std::size_t least) const noexcept;
  void put(Block& block, State state) noexcept;
  void remove(Block& block) noexcept;
  void cut(Block& block, std::size_t size) noexcept;
  void free(Block& block) noexcept;
  void absorb_next(Block& block) noexcept;
  void free_kept() noexcept;

  std::unordered_map<const std::byte*, Block> blocks_;  // by their begin
  Owners busy_;
  Owners idle_;
  Lists kept_{};
  Lists free_{};
  std::array<std::uint64_t, kSizeClasses / 64 + 1> has_free_{};
  bool has_kept_ = false;  // there may be kept blocks
  std::size_t live_bytes_ = 0;
  std::size_t reserved_bytes_ = 0;
};

}  // namespace heddle::device
