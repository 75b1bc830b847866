#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "heddle/shape.h"

namespace heddle::io {

/// Random numbers that depend on what the stream was made from and on nothing else. Meets
/// std::uniform_random_bit_generator. Thread safety: an object belongs to one thread.
class RandomStream {
 public:
  using result_type = std::uint64_t;

  /// Streams of different arguments are independent.
  RandomStream(std::uint64_t seed, std::int64_t epoch, std::int64_t id);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()();
  /// In [0, 1), equidistant.
  double uniform() { return static_cast<double>((*this)() >> 11U) * 0x1p-53; }
  /// In [0, bound), all equally likely; bound > 0.
  std::uint64_t below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

/// One record on its way into a batch; a transform changes it in place. Valid during the call.
struct Sample {
  std::span<float> data;  ///< row-major
  const Shape& shape;     ///< of data, the source's record_shape()
  float& label;
  const std::int64_t id;  ///< the record's position in the source, from 0
  RandomStream random;    ///< the same numbers for the same (seed, epoch, id)
};

/// Called on the engine's threads, by up to decode_threads of them at once. What it throws is
/// thrown by next().
using Transform = std::function<void(Sample&)>;

}  // namespace heddle::io
