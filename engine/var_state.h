#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/failure.h"

namespace heddle::detail {

struct Epoch;

/// What a Var refers to.
///
/// Thread safety: `references` is atomic; the rest, but for what is const, belongs to the engine
/// and is guarded by its lock.
///
/// Lifetime: one reference per handle, and one for the engine while operations on the variable
/// have not ended. The engine is named by a number that is never reused, so a handle may outlive
/// it.
struct VarState {
  VarState(std::uint64_t engine, std::string_view given_name);
  ~VarState();
  VarState(const VarState&) = delete;
  VarState& operator=(const VarState&) = delete;

  std::atomic<std::uint32_t> references{1};
  const std::uint64_t engine_id;
  const std::string name;

  bool deleted = false;
  std::uint64_t version = 0;  ///< ended operations that mutate it
  FailurePtr poison;          ///< of the naive engine; the tracker keeps it per epoch

  // Of the tracker.
  Epoch* newest = nullptr;      ///< the version that the next push meets; null: untouched
  std::uint64_t accesses = 0;   ///< of operations that have not ended
  std::uint64_t last_push = 0;  ///< the last push that named it: folds duplicates
};

/// Throws std::invalid_argument, naming `call`, unless `var` is a live variable of `engine_id`.
/// Reads `deleted`: the caller holds the engine's lock.
void check_usable(const VarState* var, std::uint64_t engine_id, std::string_view call);

}  // namespace heddle::detail
