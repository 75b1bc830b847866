#include "engine/device/page_map.h"

#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::device {
namespace {

constexpr std::size_t kPage = 4096;

std::byte* address(std::size_t offset) {
  return reinterpret_cast<std::byte*>((std::uintptr_t{1} << 30U) + offset);  // never touched
}

Segment part(std::size_t begin, std::size_t end) { return {address(begin), end - begin}; }

TEST_CASE("no page has memory at first") {
  const PageMap pages(part(0, 100 * kPage), kPage);
  CHECK(pages.mapped_bytes() == 0);
  CHECK_FALSE(pages.covers(part(5, 6)));
  CHECK(pages.missing(part(0, 100 * kPage)) == 100 * kPage);
}

TEST_CASE("a part that touches a page without memory is not covered") {
  PageMap pages(part(0, 100 * kPage), kPage);
  pages.set(part(10 * kPage, 20 * kPage), true);
  CHECK(pages.covers(part(10 * kPage, 20 * kPage)));
  CHECK(pages.covers(part(10 * kPage + 1, 10 * kPage + 2)));
  CHECK_FALSE(pages.covers(part(10 * kPage - 1, 11 * kPage)));
  CHECK_FALSE(pages.covers(part(19 * kPage, 20 * kPage + 1)));
}

TEST_CASE("whole pages are those that lie in a part from their begin to their end") {
  PageMap pages(part(0, 100 * kPage), kPage);
  pages.set(part(10 * kPage, 20 * kPage), true);
  const Segment whole = pages.first_whole(part(10 * kPage + 1, 13 * kPage - 1));
  CHECK(whole.begin == address(11 * kPage));
  CHECK(whole.bytes == kPage);
  CHECK(pages.first_whole(part(10 * kPage + 1, 12 * kPage - 1)).bytes == 0);
}

TEST_CASE("an empty part is covered and lacks nothing") {
  const PageMap pages(part(0, 10 * kPage), kPage);
  CHECK(pages.covers(part(10 * kPage, 10 * kPage)));
  CHECK(pages.missing(part(3, 3)) == 0);
}

TEST_CASE("a map of pages agrees with one flag per page") {
  constexpr std::size_t kPages = 300;
  std::mt19937_64 random(11);
  PageMap pages(part(0, kPages * kPage), kPage);
  std::vector<bool> expected(kPages);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t begin = random() % kPages;
    std::size_t end = begin + 1;
    while (end < kPages && random() % 8 != 0 && expected[end] == expected[begin]) ++end;
    pages.set(part(begin * kPage, end * kPage), !expected[begin]);
    for (std::size_t i = begin; i < end; ++i) expected[i] = !expected[i];

    const std::size_t from = random() % (kPages * kPage);
    const std::size_t to = from + 1 + random() % (kPages * kPage - from);
    std::size_t missing = 0;
    for (std::size_t i = from / kPage; i * kPage < to; ++i) missing += expected[i] ? 0 : kPage;
    std::size_t whole = 0;
    for (std::size_t i = (from + kPage - 1) / kPage; (i + 1) * kPage <= to; ++i) {
      whole += expected[i] ? kPage : 0;
    }
    REQUIRE(pages.missing(part(from, to)) == missing);
    REQUIRE(pages.covers(part(from, to)) == (missing == 0));
    REQUIRE(pages.whole_bytes(part(from, to)) == whole);
    REQUIRE((pages.first_missing(part(from, to)).bytes == 0) == (missing == 0));
  }
}

}  // namespace
}  // namespace heddle::device
