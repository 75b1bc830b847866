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
};

/// By the times in `records`, of a run that took so many seconds.
Overlap overlap_of(std::span<const heddle::OpRecord> records, double wall);
/// Of a run from the first start in `records` to the last end. Nothing without a GPU's work.
Overlap overlap_of(std::span<const heddle::OpRecord> records);

}  // namespace bench::overlap
