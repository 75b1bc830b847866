#include "engine/device/size_class.h"

#include <catch2/catch.hpp>

namespace heddle::device {
namespace {

TEST_CASE("blocks are multiples of 64 bytes, then sixteen sizes per power of two") {
  CHECK(block_size(0) == 64);
  CHECK(block_size(64) == 64);
  CHECK(block_size(65) == 128);
  CHECK(block_size(1024) == 1024);
  CHECK(block_size(1025) == 1088);
  CHECK(block_size(2049) == 2176);
  CHECK(block_size(std::size_t{50} << 20U) == std::size_t{50} << 20U);
}

TEST_CASE("a block holds what it serves, and beyond a kibibyte at most a sixteenth more") {
  bool holds = true;
  bool fixed = true;
  bool thrifty = true;
  for (std::size_t bytes = 1024; bytes < 300'000; bytes += 7) {
    const std::size_t size = block_size(bytes);
    holds = holds && size >= bytes && size % 64 == 0;
    fixed = fixed && block_size(size) == size;
    thrifty = thrifty && size - bytes <= bytes / 16;
  }
  CHECK(holds);
  CHECK(fixed);
  CHECK(thrifty);
}

TEST_CASE(
    "each block size has a class of its own, in order, and what lies between is of the lower") {
  std::size_t size = block_size(1);
  for (std::size_t number = 0; size < std::size_t{1} << 60U; ++number) {
    const std::size_t next = block_size(size + 1);
    REQUIRE(size_class(size) == number);
    REQUIRE(size_class(next - 1) == number);
    size = next;
  }
  CHECK(size_class((std::size_t{1} << 63U) - 1) < kSizeClasses);
}

}  // namespace
}  // namespace heddle::device
