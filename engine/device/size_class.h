#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace heddle::device {

inline constexpr std::size_t kBlockAlignment = 64;

/// Beyond this size there are so many classes per power of two.
inline constexpr std::size_t kClassesPerOctave = 16;
inline constexpr std::size_t kLastFine = kBlockAlignment * kClassesPerOctave;

/// The size of the block that serves `bytes`: a multiple of 64 up to 1 KiB, then the next of
/// sixteen steps per power of two, so at most 1/16 more. `bytes` is at most 2^62.
inline std::size_t block_size(std::size_t bytes) {
  const std::size_t step = std::max(
      kBlockAlignment, std::bit_floor(std::max<std::size_t>(bytes, 1) - 1) / kClassesPerOctave);
  return std::max<std::size_t>((bytes + step - 1) / step * step, step);
}

/// The largest block_size() of at most `bytes`, which is below 2^63; 0 below 64.
inline std::size_t block_size_within(std::size_t bytes) {
  const std::size_t step =
      bytes < kLastFine ? kBlockAlignment : std::bit_floor(bytes) / kClassesPerOctave;
  return bytes / step * step;
}

inline constexpr std::size_t kSizeClasses =
    kClassesPerOctave * (1 + 64 - static_cast<std::size_t>(std::countr_zero(kLastFine)));

/// The number of the largest class whose blocks are not larger than `bytes`, which is at least 64
/// and below 2^63.
inline std::size_t size_class(std::size_t bytes) {
  if (bytes < kLastFine) return bytes / kBlockAlignment - 1;
  const std::size_t octave = std::bit_floor(bytes);
  const auto octaves = static_cast<std::size_t>(std::countr_zero(octave / kLastFine));
  return kClassesPerOctave * (1 + octaves) - 1 + (bytes - octave) / (octave / kClassesPerOctave);
}

}  // namespace heddle::device
