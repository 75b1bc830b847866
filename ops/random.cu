#include <cmath>

#include "engine/device/cuda_for_each.h"
#include "ops/kernels.h"
#include "ops/random_values.h"

namespace heddle::ops::cuda {
namespace {

/// Calls body(words of a block, index of its first element) with one thread per block of a draw.
template <class Body>
void for_blocks(const char* what, const PhiloxPosition& start, std::int64_t n, Body body) {
  device::cuda_for_each(what, (n + 3) / 4, [=] __device__(std::int64_t block) {
    const PhiloxBlock words = philox(
        philox_counter(start.block + static_cast<std::uint64_t>(block)),
        static_cast<std::uint32_t>(start.seed), static_cast<std::uint32_t>(start.seed >> 32U));
    body(words, block * 4);
  });
}

struct Uniform {
  float low, width;
  float* out;
  std::int64_t n;
  __device__ void operator()(const PhiloxBlock& words, std::int64_t first) const {
    for (std::size_t k = 0; k < 4 && first + static_cast<std::int64_t>(k) < n; ++k) {
      out[first + static_cast<std::int64_t>(k)] = low + width * unit(words[k]);
    }
  }
};

struct Normal {
  float mean, stddev;
  float* out;
  std::int64_t n;
  __device__ void operator()(const PhiloxBlock& words, std::int64_t first) const {
    for (std::size_t k = 0; k < 4; k += 2) {
      const std::int64_t i = first + static_cast<std::int64_t>(k);
      float x = 0;
      float y = 0;
      normal_pair(words[k], words[k + 1], x, y);
      if (i < n) out[i] = mean + stddev * x;
      if (i + 1 < n) out[i + 1] = mean + stddev * y;
    }
  }
};

struct Bernoulli {
  std::uint64_t below;
  float* out;
  std::int64_t n;
  __device__ void operator()(const PhiloxBlock& words, std::int64_t first) const {
    for (std::size_t k = 0; k < 4 && first + static_cast<std::int64_t>(k) < n; ++k) {
      out[first + static_cast<std::int64_t>(k)] = words[k] < below ? 1.0F : 0.0F;
    }
  }
};

void uniform(const PhiloxPosition& start, float low, float high, float* out, std::int64_t n) {
  for_blocks("uniform", start, n, Uniform{low, high - low, out, n});
}

void normal(const PhiloxPosition& start, float mean, float stddev, float* out, std::int64_t n) {
  for_blocks("normal", start, n, Normal{mean, stddev, out, n});
}

void bernoulli(const PhiloxPosition& start, double p, float* out, std::int64_t n) {
  for_blocks("bernoulli", start, n, Bernoulli{words_below(p), out, n});
}

void integers(const PhiloxPosition& start, std::int64_t low, std::int64_t high, std::int64_t* out,
              std::int64_t n) {
  const Bounded bounded(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  device::cuda_for_each("randint", n, [=] __device__(std::int64_t i) {
    const auto index = static_cast<std::uint64_t>(i);
    const std::uint64_t value = bounded(start, index, philox_word(start, index));
    out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value);
  });
}

}  // namespace

DrawKernel uniform_kernel() { return &uniform; }
DrawKernel normal_kernel() { return &normal; }
BernoulliKernel bernoulli_kernel() { return &bernoulli; }
IntegersKernel integers_kernel() { return &integers; }

}  // namespace heddle::ops::cuda
