#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <heddle/heddle.h>

namespace bench::overlap {

/// One operation that took time on the model clock, which begins with the first one.
struct Step {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::string place;  ///< "gpu(0) compute copy": device, lane and name
  friend auto operator<=>(const Step&, const Step&) = default;
};

/// In order of time. Two runs of a program have equal ones.
std::vector<Step> modelled_timeline(std::span<const heddle::OpRecord> records);

/// How well what GPUs did in one run overlapped.
struct Overlap {
  double wall = 0;        ///< seconds that the run took
  double efficiency = 0;  ///< what the busiest lane of a GPU took, by `wall`
  /// The same, or what the longest chain of operations that wait for each other takes if that is
  /// more: no schedule comes to more than 1. Known on the model clock only.
  double of_bound = 0;
};

/// On the wall clock, of a run that took so many seconds.
Overlap overlap_of(std::span<const heddle::OpRecord> records, double wall);
/// On the model clock, from the first start of a GPU's work to the last end, of a run that began
/// when all of `before` had ended. Nothing without a GPU's work.
Overlap modelled_overlap(std::span<const heddle::OpRecord> before,
                         std::span<const heddle::OpRecord> records);

}  // namespace bench::overlap
