#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/prefetch.h"
#include "engine/engine_core.h"
#include "engine/operation.h"

namespace heddle::detail {

/// What an operation takes from a source of numbers when it is pushed, and a recorded one anew for
/// each run.
using Reserved = std::array<std::uint64_t, 2>;
/// An operation that works with a reservation.
using ReservingTask = UniqueFunction<void(RunContext&, const Reserved&)>;

/// What a captured push calls; an empty Task: there is nothing to call. One line, and those of a
/// program lie together: of most operations a run needs no more here.
struct alignas(base::kCacheLine) RecordedCall {
  std::variant<Task, AsyncTask, ReservingTask> function;
};

/// One captured push, but for its callable. What is needed to leave it to workers stands first, in
/// one line.
struct alignas(base::kCacheLine) RecordedOp {
  static constexpr std::size_t kNoStep = static_cast<std::size_t>(-1);

  std::size_t step = kNoStep;      ///< whose reservation it works with
  std::size_t first_variable = 0;  ///< of RecordedProgram's: mutated, then read
  std::uint32_t mutates = 0;
  std::uint32_t reads = 0;
  Route route;
  int priority = 0;
  Submission::Kind kind = Submission::Kind::kRun;
  bool is_async = false;
  bool holds = false;   ///< see RecordedProgram
  PushOptions options;  ///< device and lane first

  std::string name;
  std::vector<CopyCost> copies;
  device::RecordedPlace place;  ///< if it may be captured

  /// It has no name, works with no reservation, and is for device and lane of the program's first.
  bool is_simple(const RecordedOp& first) const {
    return name.empty() && step == kNoStep && options.device == first.options.device &&
           options.lane == first.options.lane;
  }
  bool has_many() const { return (route.flags & Operation::kManyAccesses) != 0; }
};

}  // namespace heddle::detail
