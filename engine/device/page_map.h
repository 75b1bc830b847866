#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::device {

/// A piece of memory, or of addresses.
struct Segment {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

/// Which pages of one range of addresses have memory.
///
/// Not thread-safe.
class PageMap {
 public:
  /// None has. `range` begins at and is a multiple of `page`, a power of two.
  PageMap(Segment range, std::size_t page);

  Segment range() const { return range_; }
  std::size_t page() const { return page_; }
  /// Of all pages that have memory.
  std::size_t mapped_bytes() const { return mapped_bytes_; }

  // Parts of the range:

  /// Whether every page that `part` touches has memory.
  bool covers(Segment part) const {
    if (part.bytes == 0) return true;
    const std::size_t end = number(part.begin + part.bytes - 1) + 1;
    return next(number(part.begin), end, false) == end;
  }
  /// The bytes of the pages that `part` touches and that have none.
  std::size_t missing(Segment part) const { return sum(part, false); }
  /// The bytes of the pages that lie in `part` as a whole and have memory.
  std::size_t whole_bytes(Segment part) const { return sum(whole_pages(part), true); }
  /// The first pages without memory, in a row, that `part` touches; empty if there are none.
  Segment first_missing(Segment part) const { return first(part, false); }
  /// The first pages with memory, in a row, that lie in `part` as a whole; empty if there are none.
  Segment first_whole(Segment part) const { return first(whole_pages(part), true); }

  /// Of whole pages, which all have memory, or none of which has.
  void set(Segment pages, bool mapped);

 private:
  Segment first(Segment part, bool mapped) const;
  std::size_t sum(Segment part, bool mapped) const;
  Segment whole_pages(Segment part) const;
  std::size_t number(const std::byte* address) const {
    return static_cast<std::size_t>(address - range_.begin) / page_;
  }
  std::size_t next(std::size_t from, std::size_t end, bool mapped) const;

  const Segment range_;
  const std::size_t page_;
  std::size_t mapped_bytes_ = 0;
  std::vector<std::uint64_t> bits_;  ///< by page; set if it has memory
};

}  // namespace heddle::device
