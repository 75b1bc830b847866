#include <stdexcept>

#include <catch2/catch.hpp>

#include "heddle/device.h"
#include "heddle/engine.h"
#include "heddle/ndarray.h"
#include "heddle/options.h"

// Run where CUDA finds no GPU: without a driver, or with CUDA_VISIBLE_DEVICES=-1.

namespace heddle {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("a program with CUDA in it starts without a GPU, says so, and works on the CPU") {
  CHECK(num_physical_gpus() == 0);
  CHECK(num_gpus() == 0);
  CHECK_THROWS_WITH(Device::gpu(0), Contains("there is no GPU"));
  const NDArray x = NDArray::ones({3}, Device::cpu_pinned());
  CHECK((x + x).to_vector<float>() == std::vector<float>{2, 2, 2});
}

}  // namespace
}  // namespace heddle
