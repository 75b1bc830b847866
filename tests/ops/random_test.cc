#include "heddle/random.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "ops/random_kernels.h"
#include "tests/ops/arrays.h"

namespace heddle {

using support::refusal;

TEST_CASE("a seed sets the generators of all devices to the same values") {
  random::seed(17);
  const auto on_cpu = random::uniform(0, 1, {1000}, Device::cpu()).to_vector<float>();
  const auto on_gpu = random::uniform(0, 1, {1000}, Device::gpu(1)).to_vector<float>();
  CHECK(on_cpu == on_gpu);
}

TEST_CASE("a device draws from its own position") {
  random::seed(17);
  random::uniform(0, 1, {8}, Device::cpu());
  const auto second = random::uniform(0, 1, {8}, Device::cpu()).to_vector<float>();
  const auto first_on_gpu = random::uniform(0, 1, {16}, Device::gpu(0)).to_vector<float>();
  CHECK(std::equal(second.begin(), second.end(), first_on_gpu.begin() + 8));
}

TEST_CASE("a draw takes a whole number of blocks of four words") {
  random::seed(3);
  random::uniform(0, 1, {5}, Device::cpu());
  const auto second = random::uniform(0, 1, {1}, Device::cpu()).to_vector<float>();
  random::seed(3);
  const auto together = random::uniform(0, 1, {9}, Device::cpu()).to_vector<float>();
  CHECK(second[0] == together[8]);
}

TEST_CASE("one device can be seeded alone") {
  random::seed(1);
  const auto reference = random::uniform(0, 1, {4}, Device::gpu(1)).to_vector<float>();
  random::seed(2);
  random::seed(1, Device::gpu(1));
  CHECK(random::uniform(0, 1, {4}, Device::gpu(1)).to_vector<float>() == reference);
  CHECK(random::uniform(0, 1, {4}, Device::gpu(0)).to_vector<float>() != reference);
}

TEST_CASE("uniform values are those of cuRAND for the seed") {
  random::seed(42);
  CHECK(random::uniform(0, 1, {4}, Device::cpu()).to_vector<float>() ==
        std::vector<float>{0x1.39d5ep-1F, 0x1.dfd524p-2F, 0x1.2bf50ap-4F, 0x1.5d0adp-2F});
}

TEST_CASE("uniform values fill their range evenly") {
  random::seed(5);
  const auto values = random::uniform(-2, 6, {100000}, Device::cpu()).to_vector<float>();
  std::vector<int> counts(8);
  for (const float value : values) {
    REQUIRE(value >= -2.0F);
    REQUIRE(value <= 6.0F);
    ++counts[static_cast<std::size_t>(std::min(std::floor(value + 2.0F), 7.0F))];
  }
  CHECK(*std::min_element(counts.begin(), counts.end()) > 12000);
  CHECK(*std::max_element(counts.begin(), counts.end()) < 13000);
}

TEST_CASE("normal values are Box and Muller's of the uniform words") {
  constexpr std::uint64_t kCount = 20001;
  const ops::PhiloxPosition start{.seed = 9, .block = 65000};
  std::vector<float> values(kCount);
  ops::draw_normal(start, 0, 1, values.data(), static_cast<std::int64_t>(kCount));
  double greatest_error = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::uint64_t pair = i & ~std::uint64_t{1};
    const double u = (ops::philox_word(start, pair) + 0.5) * 0x1p-32;
    const double angle = ops::philox_word(start, pair + 1) * 0x1p-32 * 2 * std::numbers::pi;
    const double radius = std::sqrt(-2 * std::log(u));
    const double expected = radius * (i == pair ? std::cos(angle) : std::sin(angle));
    greatest_error = std::max(greatest_error, std::abs(values[i] - expected));
  }
  CHECK(greatest_error < 2e-6);
}

TEST_CASE("normal values have the mean, the deviation and the tails asked for") {
  random::seed(11);
  const auto values = random::normal(3, 2, {200000}, Device::cpu()).to_vector<float>();
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const float value : values) squares += (value - mean) * (value - mean);
  CHECK(mean == Approx(3).margin(0.02));
  CHECK(std::sqrt(squares / n) == Approx(2).margin(0.02));
  const auto far = std::count_if(values.begin(), values.end(),
                                 [](float value) { return std::abs(value - 3) > 2 * 1.96; });
  CHECK(static_cast<double>(far) / n == Approx(0.05).margin(0.003));
}

TEST_CASE("bernoulli gives ones with its probability") {
  random::seed(2);
  const auto values = random::bernoulli(0.3, {100000}, Device::cpu()).to_vector<float>();
  CHECK(std::count(values.begin(), values.end(), 1.0F) == Approx(30000).margin(600));
  CHECK(std::count(values.begin(), values.end(), 0.0F) +
            std::count(values.begin(), values.end(), 1.0F) ==
        100000);
}

TEST_CASE("bernoulli of 0 and 1 is certain") {
  CHECK(sum(random::bernoulli(0, {10000}, Device::cpu())).item<float>() == 0.0F);
  CHECK(sum(random::bernoulli(1, {10000}, Device::cpu())).item<float>() == 10000.0F);
}

TEST_CASE("randint reaches every value of a small range equally often") {
  random::seed(6);
  const auto values = random::randint(-3, 4, {70000}, Device::cpu()).to_vector<std::int64_t>();
  std::vector<int> counts(7);
  for (const std::int64_t value : values) {
    REQUIRE(value >= -3);
    REQUIRE(value < 4);
    ++counts[static_cast<std::size_t>(value + 3)];
  }
  CHECK(*std::min_element(counts.begin(), counts.end()) > 9600);
  CHECK(*std::max_element(counts.begin(), counts.end()) < 10400);
}

TEST_CASE("randint is unbiased where the words do not divide evenly") {
  // With 3 * 2^30 values, a plain remainder would give the lowest quarter of the words twice.
  random::seed(8);
  const std::int64_t high = std::int64_t{3} << 30U;
  const auto values = random::randint(0, high, {30000}, Device::cpu()).to_vector<std::int64_t>();
  const auto low_third = std::count_if(values.begin(), values.end(), [](std::int64_t value) {
    return value < std::int64_t{1} << 30U;
  });
  CHECK(low_third == Approx(10000).margin(400));
}

TEST_CASE("randint covers ranges wider than 32 bits") {
  random::seed(8);
  constexpr std::int64_t kHigh = std::int64_t{3} << 61U;
  const auto values =
      random::randint(-kHigh, kHigh, {10000}, Device::cpu()).to_vector<std::int64_t>();
  CHECK(std::all_of(values.begin(), values.end(),
                    [](std::int64_t value) { return value >= -kHigh && value < kHigh; }));
  CHECK(std::count_if(values.begin(), values.end(), [](std::int64_t v) { return v < 0; }) ==
        Approx(5000).margin(250));
}

TEST_CASE("a permutation holds every number once") {
  random::seed(4);
  auto values = random::permutation(1000, Device::gpu(0)).to_vector<std::int64_t>();
  CHECK_FALSE(std::is_sorted(values.begin(), values.end()));
  std::sort(values.begin(), values.end());
  std::vector<std::int64_t> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(values == expected);
}

TEST_CASE("shuffle puts rows into the order of the permutation at its position") {
  random::seed(4);
  const auto order = random::permutation(50, Device::cpu()).to_vector<std::int64_t>();
  NDArray rows = NDArray::arange(0, 150, 1, Device::cpu()).reshape({50, 3});
  random::seed(4);
  random::shuffle(rows);
  const auto values = rows.to_vector<float>();
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(values[3 * i + j] == static_cast<float>(3 * order[i]) + static_cast<float>(j));
    }
  }
}

TEST_CASE("a recorded permutation and shuffle are drawn anew in each run") {
  for (const Device device : {Device::cpu(), Device::gpu(1)}) {
    const auto script = [device](const NDArray& sum) {
      NDArray x = sum;
      x += random::permutation(16, device).astype(DType::kFloat32) * 16;
      random::shuffle(x);
    };
    random::seed(9);
    const NDArray pushed = NDArray::zeros({16}, device);
    for (int i = 0; i < 3; ++i) script(pushed);
    random::seed(9);
    const NDArray replayed = NDArray::zeros({16}, device);
    const Recording recording = Engine::get().record([&] { script(replayed); });
    for (int i = 0; i < 3; ++i) recording.run();
    CHECK(replayed.to_vector<float>() == pushed.to_vector<float>());
  }
}

TEST_CASE("draws refuse arguments that mean nothing") {
  CHECK(refusal([] { random::normal(0, -1, {1}, Device::cpu()); }) ==
        "[normal] stddev -1.000000: expected 0 or more");
  CHECK(refusal([] { random::bernoulli(1.5, {1}, Device::cpu()); }) ==
        "[bernoulli] p 1.500000: expected 0 <= p <= 1");
  CHECK(refusal([] { random::randint(3, 3, {1}, Device::cpu()); }) ==
        "[randint] low 3 and high 3: expected low < high");
  CHECK(refusal([] { random::permutation(-1, Device::cpu()); }) ==
        "[permutation] n -1: expected 0 or more");
}

}  // namespace heddle
