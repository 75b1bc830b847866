#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/philox.h"

// What the draws of heddle/random.h compute. Element i depends on `start` and i only.

namespace heddle::ops {

/// low + (high - low) * u, u = word * 2^-32 + 2^-33, in float.
void draw_uniform(const PhiloxPosition& start, float low, float high, float* out, std::int64_t n);

/// mean + stddev * z. Words 2j and 2j + 1 make z of elements 2j and 2j + 1 (Box and Muller), with
/// additions, multiplications and square roots only: the same bits wherever those are IEEE's.
void draw_normal(const PhiloxPosition& start, float mean, float stddev, float* out, std::int64_t n);

/// 1 if word * 2^-32 < p, else 0; p is rounded to a multiple of 2^-32.
void draw_bernoulli(const PhiloxPosition& start, double p, float* out, std::int64_t n);

/// low <= element < high.
void draw_integers(const PhiloxPosition& start, std::int64_t low, std::int64_t high,
                   std::int64_t* out, std::int64_t n);

/// The numbers 0 … n - 1 in the order of n random keys of 64 bits.
void draw_permutation(const PhiloxPosition& start, std::int64_t* out, std::int64_t n);

/// Row i becomes what row order[i] was. `order` is a permutation; it is used up.
void permute_rows(std::byte* rows, std::size_t row_bytes, std::int64_t* order, std::int64_t n);

}  // namespace heddle::ops
