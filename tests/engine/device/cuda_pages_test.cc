#include "engine/device/cuda_pages.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/ndarray.h"

#include "engine/device/cuda_backend.h"
#include "tests/support/fake_cuda_driver.h"
#include "tests/support/fake_cuda_runtime.h"

// This program has the logical GPUs 0 and 1 on one card and 2 on another.

namespace heddle::device {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

CudaGpu& card(int id) { return *cuda_gpu_of(Device::gpu(id)); }

TEST_CASE("a card's pool is made of pages that the driver maps") {
  Backend& gpu = backend_of(Device::gpu(0));
  gpu.trim();
  const std::size_t before = support::fake_cuda_mapped_bytes();
  void* const block = gpu.allocate(40 * kMiB);
  std::memset(block, 1, 40 * kMiB);
  CHECK(support::fake_cuda_mapped_bytes() >= before + 40 * kMiB);
  gpu.deallocate(block, 40 * kMiB);
  gpu.trim();
  CHECK(support::fake_cuda_mapped_bytes() <= before);
}

TEST_CASE("pages that are unmapped give their memory back, and can be mapped again") {
  const auto pages = CudaPages::make(card(0));
  REQUIRE(pages != nullptr);
  const PagedMemory memory = pages->memory();
  const std::size_t page = memory.good_page;
  const std::size_t before = support::fake_cuda_mapped_bytes();
  auto* const range = static_cast<std::byte*>(memory.reserve(4 * page));
  REQUIRE(range != nullptr);
  CHECK(support::fake_cuda_mapped_bytes() == before);
  CHECK(memory.map(range, 3 * page));
  std::memset(range, 1, 3 * page);
  memory.unmap(range + page, page);
  CHECK(support::fake_cuda_mapped_bytes() == before + 2 * page);
  CHECK(range[2 * page] == std::byte{1});
  CHECK(memory.map(range + page, page));
  std::memset(range, 2, 3 * page);
  memory.unmap(range, 3 * page);
  CHECK(support::fake_cuda_mapped_bytes() == before);
  memory.abandon(range, 4 * page);
}

TEST_CASE("a GPU that copies from another one may access what that has, and what it will have") {
  const std::vector<float> values(1000, 1.0F);
  const NDArray early = NDArray::from(values, {1000}).to(Device::gpu(0));
  early.wait_to_read();
  const std::size_t before = support::fake_cuda_peer_pages(card(2).index());
  CHECK(early.to(Device::gpu(2)).to_vector<float>() == values);
  const std::size_t after = support::fake_cuda_peer_pages(card(2).index());
  CHECK(after > before);
  const NDArray late({64 * 1024 * 1024}, Device::gpu(0));  // on new pages
  late.slice(0, 1000).copy_from(early);
  CHECK(late.slice(0, 1000).to(Device::gpu(2)).to_vector<float>() == values);
  CHECK(support::fake_cuda_peer_pages(card(2).index()) >= after + 16);
}

// For ctest, in a process of its own each: what they do to the driver stays.

TEST_CASE("where the driver has no pages memory comes in segments", "[.]") {
  support::hide_fake_cuda_driver();
  const std::vector<float> values(1000, 1.0F);
  CHECK(NDArray::from(values, {1000}).to(Device::gpu(0)).to_vector<float>() == values);
  CHECK(support::fake_cuda_mapped_bytes() == 0);
}

TEST_CASE("without memory for all pages none of them is kept", "[.]") {
  const auto pages = CudaPages::make(card(0));
  REQUIRE(pages != nullptr);
  const PagedMemory memory = pages->memory();
  const std::size_t page = memory.good_page;
  void* const range = memory.reserve(8 * page);
  support::limit_fake_cuda_memory(2 * page);
  CHECK_FALSE(memory.map(range, 3 * page));
  CHECK(support::fake_cuda_mapped_bytes() == 0);
  CHECK(memory.map(range, 2 * page));
  CHECK_FALSE(card(0).is_lost());
  memory.unmap(range, 2 * page);
  memory.abandon(range, 8 * page);
}

TEST_CASE("a GPU that fails while it maps is lost", "[.]") {
  const auto pages = CudaPages::make(card(0));
  REQUIRE(pages != nullptr);
  const PagedMemory memory = pages->memory();
  void* const range = memory.reserve(memory.good_page);
  support::break_fake_cuda();
  CHECK_FALSE(memory.map(range, memory.good_page));
  CHECK(card(0).is_lost());
}

}  // namespace
}  // namespace heddle::device
