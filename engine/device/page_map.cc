#include "engine/device/page_map.h"

#include <algorithm>
#include <bit>

namespace heddle::device {
namespace {
constexpr std::size_t kBits = 64;
}  // namespace

PageMap::PageMap(Segment range, std::size_t page)
    : range_(range), page_(page), bits_((range.bytes / page + kBits - 1) / kBits) {}

/// The bytes of the pages that `part` touches and that have memory, or have none.
std::size_t PageMap::sum(Segment part, bool mapped) const {
  std::size_t bytes = 0;
  std::byte* const end = part.begin + part.bytes;
  for (;;) {
    const Segment run = first(part, mapped);
    if (run.bytes == 0) return bytes;
    bytes += run.bytes;
    std::byte* const behind = run.begin + run.bytes;
    if (behind >= end) return bytes;
    part = {behind, static_cast<std::size_t>(end - behind)};
  }
}

void PageMap::set(Segment pages, bool mapped) {
  const std::size_t begin = number(pages.begin);
  const std::size_t end = begin + pages.bytes / page_;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i % kBits;
    bits_[i / kBits] = mapped ? bits_[i / kBits] | bit : bits_[i / kBits] & ~bit;
  }
  mapped_bytes_ = mapped ? mapped_bytes_ + pages.bytes : mapped_bytes_ - pages.bytes;
}

/// The first run of pages that `part` touches and that have memory, or have none.
Segment PageMap::first(Segment part, bool mapped) const {
  if (part.bytes == 0) return {part.begin, 0};
  const std::size_t end = number(part.begin + part.bytes - 1) + 1;
  const std::size_t begin = next(number(part.begin), end, mapped);
  if (begin == end) return {part.begin, 0};
  return {range_.begin + begin * page_, (next(begin, end, !mapped) - begin) * page_};
}

Segment PageMap::whole_pages(Segment part) const {
  const auto offset = static_cast<std::size_t>(part.begin - range_.begin);
  const std::size_t begin = (offset + page_ - 1) / page_ * page_;
  const std::size_t end = (offset + part.bytes) / page_ * page_;
  return {range_.begin + begin, end > begin ? end - begin : 0};
}

/// The first page from `from` on that has memory, or has none; `end` if there is none before.
std::size_t PageMap::next(std::size_t from, std::size_t end, bool mapped) const {
  while (from < end) {
    const std::uint64_t word = mapped ? bits_[from / kBits] : ~bits_[from / kBits];
    const std::uint64_t rest = word >> from % kBits;
    if (rest != 0) return std::min(end, from + static_cast<std::size_t>(std::countr_zero(rest)));
    from = (from / kBits + 1) * kBits;
  }
  return end;
}

}  // namespace heddle::device
