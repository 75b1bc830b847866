#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/ndarray.h"

#include "tests/conformance/target.h"

// Memory is taken and given back by operations, in the order of the script.

namespace heddle::conformance {
namespace {

using Catch::Matchers::Contains;

constexpr std::int64_t kSize = 1 << 13;

TEST_CASE("memory given back is not used anew before its last copy to another device has read it") {
  constexpr int kRounds = 60;
  for (std::size_t i = 0; i < devices().size(); ++i) {
    std::vector<NDArray> copies;
    for (int round = 0; round < kRounds; ++round) {
      const NDArray once = NDArray::full({kSize}, round, device(i), DType::kInt32);
      NDArray copy({kSize}, round % 2 == 0 ? device(i + 1) : Device::cpu_pinned(), DType::kInt32);
      copy.copy_from(once);
      copies.push_back(copy);
    }  // `once` is given back before its copy has begun, mostly
    for (int round = 0; round < kRounds; ++round) {
      CHECK(copies[static_cast<std::size_t>(round)].to_vector<std::int32_t>() ==
            std::vector<std::int32_t>(kSize, round));
    }
  }
}

TEST_CASE("memory given back by a lane that is late is not given to one that is early") {
  Engine& engine = Engine::get();
  for (const Device where : devices()) {
    NDArray x = NDArray::full({kSize}, 1, where, DType::kInt32);
    const NDArray target({kSize}, Device::cpu_pinned(), DType::kInt32);
    x.wait_to_read();
    target.wait_to_write();
    {
      HeldStream held(engine, {}, {target.var()}, {.device = where, .lane = Lane::kCopyOut});
      held.wait_until_started();
      target.copy_from(x);  // behind the held one
      x = NDArray();
      for (int i = 2; i < 20; ++i) {
        const NDArray other = NDArray::full({kSize}, i, where, DType::kInt32);
        other.wait_to_read();
      }
    }
    CHECK(target.to_vector<std::int32_t>() == std::vector<std::int32_t>(kSize, 1));
  }
}

TEST_CASE("arrays of all sizes come and go on all devices") {
  std::vector<NDArray> kept;
  std::vector<std::int32_t> expected;
  for (std::int32_t i = 0; i < 400; ++i) {
    const std::int64_t size = 1 + (std::int64_t{i} * 7919) % (i % 40 == 0 ? 100000 : 1000);
    const NDArray made =
        NDArray::full({size}, i, device(static_cast<std::size_t>(i)), DType::kInt32);
    if (i % 5 == 0) {
      kept.push_back(made.to(device(static_cast<std::size_t>(i) + 1)) + 1);
      expected.push_back(i + 1);
    }
    if (kept.size() > 20) {
      CHECK(kept.front().to_vector<std::int32_t>() ==
            std::vector<std::int32_t>(static_cast<std::size_t>(kept.front().size()),
                                      expected.front()));
      kept.erase(kept.begin());
      expected.erase(expected.begin());
    }
  }
}

TEST_CASE("an array that nobody touches takes no memory") {
  for (const Device where : memories()) {
    for (int i = 0; i < 10; ++i) {
      const NDArray untouched({std::int64_t{1} << 50}, where);
      CHECK(NDArray::full({4}, i, where).to_vector<float>() ==
            std::vector<float>(4, static_cast<float>(i)));
    }
  }
}

TEST_CASE("too large an array is an error that names sizes, and the device goes on") {
  constexpr std::int64_t kTooMany = std::int64_t{1} << 60;
  for (const Device where : memories()) {
    const NDArray before = NDArray::full({kSize}, 1, where, DType::kInt32);
    const NDArray large = NDArray::zeros({kTooMany}, where);
    const NDArray after = NDArray::full({kSize}, 2, where, DType::kInt32);
    CHECK_THROWS_WITH(large.wait_to_read(),
                      Contains("out of memory: ") && Contains("requested") && Contains("live"));
    CHECK_THROWS_AS(large.wait_to_read(), OpError);
    CHECK((before + after).to_vector<std::int32_t>() == std::vector<std::int32_t>(kSize, 3));
  }
}

TEST_CASE("what depends on an array without memory fails on other devices, too") {
  for (std::size_t i = 0; i < devices().size(); ++i) {
    const NDArray large = NDArray::zeros({std::int64_t{1} << 60}, device(i));
    const NDArray part({10}, device(i + 1));
    part.copy_from(large.slice(0, 10));
    CHECK_THROWS_WITH(part.to_vector<float>(), Contains("out of memory"));
  }
}

TEST_CASE("an array outlives its handle as long as operations use it") {
  for (std::size_t i = 0; i < devices().size(); ++i) {
    NDArray result;
    {
      const NDArray a = NDArray::full({kSize}, 2, device(i), DType::kInt32);
      const NDArray view = a.slice(100, 200);
      const NDArray b = view * 3;
      result = b.to(device(i + 1));
    }
    CHECK(result.to_vector<std::int32_t>() == std::vector<std::int32_t>(100, 6));
  }
}

}  // namespace
}  // namespace heddle::conformance
