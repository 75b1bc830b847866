#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

// Random copies between slices of arrays on all devices, against the same copies in vectors.

namespace heddle {
namespace {

constexpr std::int64_t kRows = 8;
constexpr std::int64_t kWidth = 500;

using Rows = std::vector<std::int64_t>;

class Copies {
 public:
  explicit Copies(std::uint32_t seed) : random_(seed) {
    std::vector<Device> devices = {Device::cpu(), Device::cpu_pinned()};
    for (int id = 0; id < num_gpus(); ++id) {
      devices.insert(devices.end(), {Device::gpu(id), Device::gpu(id)});
    }
    for (const Device device : devices) {
      expected_.emplace_back();
      for (std::int64_t i = 0; i < kRows * kWidth; ++i) expected_.back().push_back(next_++);
      arrays_.push_back(NDArray::from(expected_.back(), {kRows, kWidth}, device));
    }
  }

  void copy_rows() {
    const std::size_t from = pick(arrays_.size());
    const std::size_t to = pick(arrays_.size());
    const auto count = static_cast<std::int64_t>(1 + pick(kRows));
    const auto source =
        static_cast<std::int64_t>(pick(static_cast<std::size_t>(kRows - count + 1)));
    const auto target =
        static_cast<std::int64_t>(pick(static_cast<std::size_t>(kRows - count + 1)));
    arrays_[to]
        .slice(target, target + count)
        .copy_from(arrays_[from].slice(source, source + count));
    const Rows& row = expected_[from];
    const Rows moved(row.begin() + source * kWidth, row.begin() + (source + count) * kWidth);
    std::copy(moved.begin(), moved.end(), expected_[to].begin() + target * kWidth);
  }

  /// The old array is freed while copies of it may be under way.
  void replace() {
    const std::size_t i = pick(arrays_.size());
    arrays_[i] = arrays_[i].copy();
  }

  void check() const {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      CAPTURE(i);
      CHECK(arrays_[i].to_vector<std::int64_t>() == expected_[i]);
    }
  }

 private:
  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }

  std::mt19937 random_;
  std::int64_t next_ = 0;
  std::vector<NDArray> arrays_;
  std::vector<Rows> expected_;
};

TEST_CASE("random copies between devices have the result of their serial order") {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    Copies copies(seed);
    for (int i = 0; i < 300; ++i) {
      copies.copy_rows();
      if (i % 10 == 0) copies.replace();
    }
    copies.check();
  }
  Engine::get().wait_for_all();
}

}  // namespace
}  // namespace heddle
