#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/conformance/target.h"

// Copies between the host, devices and their peers.

namespace heddle::conformance {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST_CASE("copies of every size arrive between any two memories") {
  // About the granularity of memory, a page, the largest brief copy, and the segments of pools.
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  const std::size_t size =
      GENERATE(as<std::size_t>(), 1, 63, 64, 65, 4095, 4097, kMiB - 1, 4 * kMiB + 1, 9 * kMiB);
  const Bytes before = pattern(size, 1);
  const Bytes bytes = pattern(size, 2);
  // The first two devices stand for all where moving a lot would only take long.
  std::vector<Device> places = memories();
  if (size > kMiB) places = {device(0), device(1), Device::cpu(), Device::cpu_pinned()};
  for (const Device from : places) {
    const NDArray source = array_of(bytes, from);
    for (const Device to : places) {
      CAPTURE(from.str(), to.str(), size);
      const NDArray target = array_of(before, to);
      target.copy_from(source);
      CHECK(target.to_vector<std::uint8_t>() == bytes);
    }
  }
}

TEST_CASE("parts of arrays arrive between any two memories, and only they") {
  const std::vector<Device> places = memories();
  for (const Device from : places) {
    for (const Device to : places) {
      const NDArray source = array_of(pattern(3000, 1), from);
      const NDArray target = array_of(pattern(2000, 2), to);
      target.slice(17, 1017).copy_from(source.slice(1001, 2001));
      Bytes expected = pattern(2000, 2);
      const Bytes moved = pattern(3000, 1);
      std::copy(moved.begin() + 1001, moved.begin() + 2001, expected.begin() + 17);
      CAPTURE(from.str(), to.str());
      CHECK(target.to_vector<std::uint8_t>() == expected);
    }
  }
}

TEST_CASE("an array that goes round all memories comes back as it was") {
  for (const std::size_t size : {std::size_t{100}, std::size_t{300000}}) {
    const Bytes bytes = pattern(size, 3);
    NDArray x = array_of(bytes, Device::cpu());
    for (int round = 0; round < 3; ++round) {
      for (const Device where : memories()) x = x.to(where);
    }
    CHECK(x.to_vector<std::uint8_t>() == bytes);
  }
}

TEST_CASE("copies out of an array keep their order with the copies into it") {
  constexpr std::uint32_t kRounds = 60;
  constexpr std::size_t kSize = 50000;
  for (std::size_t i = 0; i < devices().size(); ++i) {
    const NDArray x = array_of(pattern(kSize, 0), device(i));
    std::vector<NDArray> to_host;
    std::vector<NDArray> to_peer;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      x.copy_from(array_of(pattern(kSize, round), Device::cpu()));
      const NDArray out({kSize}, Device::cpu_pinned(), DType::kUInt8);
      out.copy_from(x);
      to_host.push_back(out);
      const NDArray beside({kSize}, device(i + 1), DType::kUInt8);
      beside.copy_from(x);
      to_peer.push_back(beside);
    }
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const Bytes expected = pattern(kSize, round);
      CHECK(to_host[round].to_vector<std::uint8_t>() == expected);
      CHECK(to_peer[round].to_vector<std::uint8_t>() == expected);
    }
  }
}

TEST_CASE("one array is copied to and from all devices at a time without a byte lost") {
  const std::size_t size = 20000;
  std::vector<NDArray> arrays;
  for (const Device where : devices()) {
    arrays.push_back(NDArray::zeros({size}, where, DType::kUInt8));
  }
  for (std::uint32_t round = 0; round < 20; ++round) {
    // From one device to all others, each time from another.
    const NDArray& source = arrays[round % arrays.size()];
    source.copy_from(array_of(pattern(size, round), Device::cpu()));
    for (const NDArray& target : arrays) {
      if (target.var() != source.var()) target.copy_from(source);
    }
    for (const NDArray& array : arrays) {
      const NDArray out = array.to(Device::cpu_pinned());
      CHECK(out.to_vector<std::uint8_t>() == pattern(size, round));
    }
  }
}

TEST_CASE("a copy takes the values of its place in the script, whatever is written later") {
  for (std::size_t i = 0; i < devices().size(); ++i) {
    NDArray x = NDArray::zeros({10000}, device(i), DType::kInt64);
    std::vector<NDArray> seen;
    for (std::int64_t step = 0; step < 40; ++step) {
      seen.push_back(x.to(step % 2 == 0 ? Device::cpu_pinned() : device(i + 1)).copy());
      x += 1;
    }
    for (std::size_t step = 0; step < seen.size(); ++step) {
      CHECK(seen[step].to_vector<std::int64_t>() ==
            std::vector<std::int64_t>(10000, static_cast<std::int64_t>(step)));
    }
  }
}

}  // namespace
}  // namespace heddle::conformance
