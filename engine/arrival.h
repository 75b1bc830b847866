#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/many_variables.h"
#include "engine/operation.h"

namespace heddle::detail {

/// A plain push, as it is left for who takes note of it: two lines.
struct alignas(64) Arrival {
  Task task;
  Device device;

  union {
    std::array<VarState*, Operation::kInlineAccesses> variables;  ///< the mutated ones first
    ManyVariables* many = nullptr;  ///< owned, with the queue: a Stretch ends before it
  };
  LaneQueue* queue = nullptr;  ///< null if it has many; then the counts are 0
  int priority = 0;
  std::uint16_t flags = 0;  ///< of the operation
  std::uint8_t mutate_count = 0;
  std::uint8_t read_count = 0;
  std::uint64_t generation = 0;  ///< which waits for everything cover it
  std::uint64_t sequence = 0;

  /// It names more variables than lie here.
  bool has_many() const { return queue == nullptr; }
  std::span<VarState* const> mutates() const { return {variables.data(), mutate_count}; }
  std::span<VarState* const> reads() const { return {variables.data() + mutate_count, read_count}; }
  std::span<VarState* const> all() const {
    return {variables.data(), std::size_t{mutate_count} + read_count};
  }
};

static_assert(sizeof(Task) != 56 || offsetof(Arrival, variables) == 64,
              "what is looked at to find conflicts lies on one line");

/// Destroys what it holds, as nobody will take it in.
inline void discard(Arrival& arrival) {
  arrival.task.reset();
  if (arrival.has_many()) delete arrival.many;
}

/// True if the one must wait until the other has ended.
inline bool conflict(const Arrival& a, const Arrival& b) {
  const auto has = [](std::span<VarState* const> list, const VarState* var) {
    return std::find(list.begin(), list.end(), var) != list.end();
  };
  for (const VarState* const var : a.mutates()) {
    if (has(b.mutates(), var) || has(b.reads(), var)) return true;
  }
  return std::any_of(a.reads().begin(), a.reads().end(),
                     [&](const VarState* var) { return has(b.mutates(), var); });
}

/// What an unused operation needs of an arrival, but for the callable.
inline void begin_from(Operation& op, const Arrival& arrival) {
  op.sequence = arrival.sequence;
  op.generation = arrival.generation;
  LaneQueue* const queue = arrival.has_many() ? arrival.many->queue : arrival.queue;
  op.begin(arrival.priority, arrival.device, arrival.flags, queue);
}

}  // namespace heddle::detail
