#include "engine/device/cuda_backend.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"
#include "heddle/ndarray.h"

#include "tests/support/fake_cuda_runtime.h"

// This program has the logical GPUs 0 and 1 on one card and 2 on another.

namespace heddle::device {
namespace {

using Catch::Matchers::Contains;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

Backend& gpu(int id) { return backend_of(Device::gpu(id)); }

TEST_CASE("logical GPUs of one card have equal shares of its memory") {
  auto& first = dynamic_cast<CudaBackend&>(gpu(0));
  auto& second = dynamic_cast<CudaBackend&>(gpu(1));
  auto& alone = dynamic_cast<CudaBackend&>(gpu(2));
  REQUIRE(&first.gpu() == &second.gpu());
  REQUIRE(&first.gpu() != &alone.gpu());
  CHECK(first.room() == first.gpu().memory_size() / 2);
  CHECK(second.room() == first.gpu().memory_size() / 2);
  CHECK(alone.room() == alone.gpu().memory_size());
}

TEST_CASE("what a logical GPU has takes no room from another one of its card") {
  const std::size_t first_room = gpu(0).room();
  const std::size_t second_room = gpu(1).room();
  void* const block = gpu(0).allocate(3 * kMiB);
  CHECK(gpu(0).room() == first_room - 3 * kMiB);
  CHECK(gpu(1).room() == second_room);
  gpu(0).deallocate(block, 3 * kMiB);
  CHECK(gpu(0).room() == first_room);
}

TEST_CASE("blocks of the logical GPUs of one card come from one pool") {
  void* const block = gpu(0).allocate(3 * kMiB);
  gpu(0).deallocate(block, 3 * kMiB);
  void* const again = gpu(1).allocate(3 * kMiB);
  CHECK(again == block);
  gpu(1).deallocate(again, 3 * kMiB);
}

TEST_CASE("more than its share is refused in the name of the logical GPU") {
  const std::size_t room = gpu(1).room();
  CHECK_THROWS_WITH(gpu(1).allocate(room + 1),
                    Contains("[gpu(1)] out of memory") && Contains("quota 128.0 GiB"));
  CHECK(gpu(1).room() == room);
}

TEST_CASE("where the card has less than it says the error names it and the logical GPU", "[.]") {
  support::limit_fake_cuda_memory(64 * kMiB);
  void* const block = gpu(0).allocate(48 * kMiB);
  const std::size_t room = gpu(1).room();
  CHECK_THROWS_WITH(gpu(1).allocate(48 * kMiB),
                    Contains("[gpu(1)] out of memory") && Contains("[cuda:0] out of memory"));
  CHECK(gpu(1).room() == room);
  gpu(0).deallocate(block, 48 * kMiB);
}

TEST_CASE("a logical GPU that has spent its share leaves the other its own", "[.]") {
  support::shrink_fake_cuda(128 * kMiB);
  const std::vector<std::uint8_t> values(24 * kMiB, 7);
  const Shape shape{static_cast<std::int64_t>(values.size())};
  std::vector<NDArray> arrays;
  for (int i = 0; i < 2; ++i) arrays.push_back(NDArray::from(values, shape, Device::gpu(0)));
  const NDArray beyond = NDArray::from(values, shape, Device::gpu(0));
  CHECK_THROWS_WITH(beyond.wait_to_read(),
                    Contains("[gpu(0)] out of memory") && Contains("quota 64.0 MiB"));
  for (int i = 0; i < 2; ++i) arrays.push_back(NDArray::from(values, shape, Device::gpu(1)));
  for (const NDArray& array : arrays) CHECK(array.to_vector<std::uint8_t>() == values);
}

}  // namespace
}  // namespace heddle::device
