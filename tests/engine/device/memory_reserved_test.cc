#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/device/memory_pool.h"

// How much a pool reserves for what is live.

namespace heddle::device {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// Addresses that are never touched, with and without pages.
RawMemory untouched(bool paged, std::uint64_t& requests) {
  static std::uintptr_t next = kMiB;
  const auto allocate = [&requests](std::size_t bytes) {
    ++requests;
    return reinterpret_cast<void*>(std::exchange(next, next + bytes));
  };
  const auto forget = [](void*, std::size_t) {};
  PagedMemory pages;
  if (paged) {
    pages = {
        .least_page = 4096,
        .good_page = 2 * kMiB,
        .reserve = [](std::size_t) { return reinterpret_cast<void*>(std::uintptr_t{1} << 40U); },
        .abandon = forget,
        .map = [&requests](void*, std::size_t) { return ++requests != 0; },
        .unmap = forget};
  }
  return {.allocate = allocate, .release = forget, .is_host = false, .pages = pages};
}

struct Trained {
  double reserved_by_live = 0;      ///< the most of each
  std::uint64_t late_requests = 0;  ///< of memory, in the second half of the steps
};

/// Steps of training a deep network, each with as many rows as `rows` says: activations go out
/// layer by layer and come back from the last layer on, beside gradients that live for a layer.
template <class Rows>
Trained train(bool paged, int steps, const Rows& rows) {
  constexpr std::array<std::size_t, 8> kWidths = {784, 4096, 1024, 2048, 512, 256, 128, 10};
  std::uint64_t requests = 0;
  std::uint64_t early_requests = 0;
  MemoryPool pool("test", untouched(paged, requests), {});
  using Block = std::pair<void*, std::size_t>;
  std::vector<Block> weights;
  const auto take = [&](std::size_t floats) {
    return Block(pool.allocate(floats * sizeof(float)), floats * sizeof(float));
  };
  const auto give_back = [&](const Block& block) { pool.deallocate(block.first, block.second); };
  for (std::size_t i = 1; i < kWidths.size(); ++i)
    weights.push_back(take(kWidths[i - 1] * kWidths[i]));
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 2) early_requests = requests;
    const std::size_t count = rows();
    std::vector<Block> activations;
    for (const std::size_t width : kWidths) activations.push_back(take(count * width));
    for (std::size_t i = kWidths.size() - 1; i > 0; --i) {
      const Block of_data = take(count * kWidths[i]);
      const Block of_weight = take(kWidths[i - 1] * kWidths[i]);
      give_back(activations[i]);
      give_back(of_data);
      give_back(of_weight);
    }
    give_back(activations[0]);
  }
  for (const Block& weight : weights) give_back(weight);
  const MemoryStatistics statistics = pool.statistics();
  return {.reserved_by_live = static_cast<double>(statistics.peak_reserved_bytes) /
                              static_cast<double>(statistics.peak_bytes),
          .late_requests = requests - early_requests};
}

TEST_CASE("a network that is trained with one batch size reserves at most 1.15 of what is live") {
  const Trained trained = train(/*paged=*/true, 200, [] { return std::size_t{512}; });
  CHECK(trained.reserved_by_live <= 1.15);
  CHECK(trained.late_requests == 0);
}

TEST_CASE("a network that is trained with all batch sizes reserves at most 1.3 of what is live") {
  std::mt19937_64 random(3);
  const Trained trained = train(/*paged=*/true, 2000, [&] { return 1 + random() % 512; });
  CHECK(trained.reserved_by_live <= 1.3);
  CHECK(trained.late_requests <= 100);  // 15 blocks a step
}

TEST_CASE("without pages a trained network reserves more, and asks for nothing more later") {
  const Trained trained = train(/*paged=*/false, 200, [] { return std::size_t{512}; });
  CHECK(trained.reserved_by_live <= 1.3);
  CHECK(trained.late_requests == 0);
  std::mt19937_64 random(3);
  CHECK(train(/*paged=*/false, 2000, [&] { return 1 + random() % 512; }).reserved_by_live <= 1.8);
}

}  // namespace
}  // namespace heddle::device
