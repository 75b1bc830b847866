#include "ops/broadcast.h"

#include <algorithm>
#include <string>

#include "ops/invoke.h"

namespace heddle::ops {

namespace {

/// Size along the axis that is `from_end` places from the last; missing axes have size 1.
std::int64_t size_from_end(const Shape& shape, int from_end) {
  const int axis = shape.ndim() - 1 - from_end;
  return axis < 0 ? 1 : shape[axis];
}

/// True if walking along `outer` and then along `inner` is one walk for every operand.
bool can_merge(const BroadcastAxis& outer, const BroadcastAxis& inner) {
  for (std::size_t k = 0; k < kMaxBroadcast; ++k) {
    if (outer.step[k] != inner.step[k] * inner.size) return false;
  }
  return true;
}

}  // namespace

Shape broadcast_shape(std::string_view op, std::span<const Shape* const> shapes) {
  int ndim = 0;
  for (const Shape* shape : shapes) ndim = std::max(ndim, shape->ndim());
  std::vector<std::int64_t> dims(static_cast<std::size_t>(ndim), 1);
  for (const Shape* shape : shapes) {
    for (int i = 0; i < shape->ndim(); ++i) {
      const std::int64_t size = size_from_end(*shape, i);
      std::int64_t& dim = dims[static_cast<std::size_t>(ndim - 1 - i)];
      if (size == dim || size == 1) continue;
      if (dim != 1) {
        std::string list = shapes.front()->str();
        for (const Shape* other : shapes.subspan(1)) list += " and " + other->str();
        refuse(op,
               "shapes " + list + ": expected sizes that are equal or 1, from the last axis on");
      }
      dim = size;
    }
  }
  return Shape(std::span<const std::int64_t>(dims));
}

BroadcastPlan plan_broadcast(const Shape& result, std::span<const Shape* const> operands) {
  std::vector<BroadcastAxis> axes;  // innermost first
  std::array<std::int64_t, kMaxBroadcast> stride{1, 1, 1};
  for (int i = 0; i < result.ndim(); ++i) {
    BroadcastAxis axis{.size = size_from_end(result, i)};
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const std::int64_t size = size_from_end(*operands[k], i);
      axis.step[k] = size == 1 ? 0 : stride[k];
      stride[k] *= size;
    }
    if (axis.size == 1) continue;
    if (!axes.empty() && can_merge(axis, axes.back())) {
      axes.back().size *= axis.size;
    } else {
      axes.push_back(axis);
    }
  }
  BroadcastPlan plan;
  if (result.size() == 0) plan.inner.size = 0;
  if (axes.empty() || result.size() == 0) return plan;
  plan.inner = axes.front();
  plan.outer.assign(axes.rbegin(), axes.rend() - 1);
  return plan;
}

}  // namespace heddle::ops
