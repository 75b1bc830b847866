#include "ops/op.h"

namespace heddle::ops {

namespace {

constexpr OpInfo kTable[] = {
#define HEDDLE_UNARY(name, types, formula) {#name, 1, ShapeRule::kSame, TypeRule::types, #formula},
#define HEDDLE_BINARY(name, types, formula) \
  {#name, 2, ShapeRule::kBroadcast, TypeRule::types, #formula},
#define HEDDLE_BACKWARD(name, types, formula) \
  {#name, 2, ShapeRule::kSame, TypeRule::types, #formula},
#define HEDDLE_OPERATOR(name, arity, shape, types, summary) \
  {#name, arity, ShapeRule::shape, TypeRule::types, summary},
#include "ops/ops.def"
};

}  // namespace

std::span<const OpInfo> all_ops() { return kTable; }

}  // namespace heddle::ops
