#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/shape.h"

namespace heddle::ops {

inline constexpr std::size_t kMaxBroadcast = 3;  // operands

/// One axis of the result: its size, and how far each operand moves with it, in elements.
struct BroadcastAxis {
  std::int64_t size = 1;
  std::array<std::int64_t, kMaxBroadcast> step{};
};

/// How a kernel walks over operands that broadcast: rows along `inner`, in which an operand moves
/// by 1 or 0, repeated over the axes in `outer`, outermost first.
struct BroadcastPlan {
  std::vector<BroadcastAxis> outer;
  BroadcastAxis inner;
};

/// The shape that `shapes` broadcast to; std::invalid_argument, naming `op`, if there is none.
Shape broadcast_shape(std::string_view op, std::span<const Shape* const> shapes);

/// `result` must be the shape that `operands`, contiguous and at most kMaxBroadcast, broadcast to.
BroadcastPlan plan_broadcast(const Shape& result, std::span<const Shape* const> operands);

/// Calls row(offsets of the operands, offset of the result), in elements, for every row.
template <class Row>
void for_each_row(const BroadcastPlan& plan, Row row) {
  std::array<std::int64_t, kMaxBroadcast> offset{};
  if (plan.outer.empty()) return row(offset, std::int64_t{0});
  std::vector<std::int64_t> index(plan.outer.size());
  for (std::int64_t out = 0;; out += plan.inner.size) {
    row(offset, out);
    std::size_t axis = plan.outer.size();
    for (;;) {
      if (axis == 0) return;
      const BroadcastAxis& moved = plan.outer[--axis];
      const bool wraps = ++index[axis] == moved.size;
      const std::int64_t steps = wraps ? 1 - moved.size : 1;
      for (std::size_t k = 0; k < kMaxBroadcast; ++k) offset[k] += steps * moved.step[k];
      if (!wraps) break;
      index[axis] = 0;
    }
  }
}

}  // namespace heddle::ops
