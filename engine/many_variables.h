#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/block_cache.h"
#include "engine/var_state.h"

namespace heddle::detail {

class LaneQueue;

/// What an Arrival has no room for, if it names more variables than lie in it.
struct ManyVariables : base::InBlockCache<ManyVariables> {
  /// Throws std::bad_alloc.
  ManyVariables(VarList mutated, VarList read, LaneQueue* of)
      : queue(of), mutate_count(mutated.size()) {
    all.reserve(mutated.size() + read.size());
    for (std::size_t i = 0; i < mutated.size(); ++i) all.push_back(mutated[i]);
    for (std::size_t i = 0; i < read.size(); ++i) all.push_back(read[i]);
  }

  std::span<VarState* const> mutates() const { return std::span(all).first(mutate_count); }
  std::span<VarState* const> reads() const { return std::span(all).subspan(mutate_count); }

  LaneQueue* queue;
  std::size_t mutate_count;
  std::vector<VarState*, base::BlockAllocator<VarState*>> all;  ///< the mutated ones first
};

}  // namespace heddle::detail
