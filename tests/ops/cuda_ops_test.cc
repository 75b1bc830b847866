#include <catch2/catch.hpp>

#include "heddle/error.h"
#include "heddle/random.h"

#include "tests/ops/arrays.h"

// What CUDA devices do not do yet. This program has two of them.

namespace heddle {

TEST_CASE("what has no kernel for CUDA is refused by name") {
  CHECK_THROWS_WITH(
      random::permutation(10, Device::gpu(0)),
      Catch::Matchers::Contains("[permutation]") && Catch::Matchers::Contains("gpu(0)"));
  CHECK_THROWS_WITH(random::shuffle(NDArray::ones({4}, Device::gpu(1))),
                    Catch::Matchers::Contains("[shuffle]") && Catch::Matchers::Contains("gpu(1)"));
}

}  // namespace heddle
