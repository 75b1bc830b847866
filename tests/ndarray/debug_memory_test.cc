#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"
#include "heddle/ops.h"
#include "heddle/options.h"

// Where memory is filled with NaNs. The devices are one table per process: a program of its own.

namespace heddle {
namespace {

// Before the first use.
const bool g_configured = [] {
  configure({.gpus = "sim:2", .debug_memory = true});
  return true;
}();

bool all_nan(const NDArray& array) {
  const std::vector<float> values = array.to_vector<float>();
  return !values.empty() &&
         std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

TEST_CASE("an array that nothing was written to holds NaNs, also where others had been before") {
  REQUIRE(g_configured);
  for (const Device device : {Device::cpu(), Device::gpu(0), Device::gpu(1)}) {
    for (const std::int64_t size : {10, 1000, 1'000'000}) {
      for (int round = 0; round < 3; ++round) {
        CHECK(all_nan(NDArray({size}, device)));
        NDArray::ones({size}, device).wait_to_read();
        Engine::get().wait_for_all();
      }
    }
  }
}

TEST_CASE("what is computed from an array without values is NaN") {
  const NDArray forgotten({100}, Device::gpu(0));
  CHECK(all_nan(forgotten + NDArray::ones({100}, Device::gpu(0))));
}

TEST_CASE("what was written is read") {
  for (const Device device : {Device::cpu(), Device::gpu(0)}) {
    CHECK((NDArray::ones({1000}, device) * 3).to_vector<float>() == std::vector<float>(1000, 3.0F));
  }
}

}  // namespace
}  // namespace heddle
