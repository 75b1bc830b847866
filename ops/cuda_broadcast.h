#pragma once

#include <cstdint>
#include <string>

#include "heddle/error.h"

#include "engine/base/host_device.h"
#include "ops/broadcast.h"

namespace heddle::ops {

/// A BroadcastPlan by value, for one thread per element of the result.
class CudaBroadcast {
 public:
  /// Throws Error, naming `op`, if the plan has too many axes.
  CudaBroadcast(const char* op, const BroadcastPlan& plan) : count_(0) {
    if (plan.outer.size() >= kMaxAxes) {
      throw Error("[" + std::string(op) + "] shapes that broadcast along " +
                  std::to_string(plan.outer.size() + 1) + " different axes: expected at most " +
                  std::to_string(kMaxAxes) + " on a CUDA device");
    }
    axes_[count_++] = plan.inner;
    for (auto axis = plan.outer.rbegin(); axis != plan.outer.rend(); ++axis) {
      axes_[count_++] = *axis;
    }
  }

  std::int64_t size() const {
    std::int64_t all = 1;
    for (int axis = 0; axis < count_; ++axis) all *= axes_[axis].size;
    return all;
  }

  /// Where the operands' elements for element i of the result are.
  struct Offsets {
    std::int64_t of[kMaxBroadcast];
  };
  HEDDLE_HOST_DEVICE Offsets offsets(std::int64_t i) const {
    Offsets result{};
    for (int axis = 0; axis < count_; ++axis) {
      const BroadcastAxis& along = axes_[axis];
      const std::int64_t place = axis + 1 < count_ ? i % along.size : i;
      i /= along.size;
      for (std::size_t k = 0; k < kMaxBroadcast; ++k) result.of[k] += place * along.step[k];
    }
    return result;
  }

 private:
  static constexpr int kMaxAxes = 8;
  BroadcastAxis axes_[kMaxAxes];  // innermost first
  int count_;
};

}  // namespace heddle::ops
