#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/block_cache.h"
#include "engine/base/spin_lock.h"
#include "engine/failure.h"

namespace heddle::detail {

struct Epoch;

/// What a Var refers to.
///
/// Thread safety: `references` is atomic; the rest, but for what is const, belongs to the engine.
/// `deleted` and `last_push` are guarded by the lock that puts pushes in order, the rest by `lock`.
///
/// Lifetime: one reference per handle, and one for the engine while operations on the variable
/// have not ended. The engine is named by a number that is never reused, so a handle may outlive
/// it.
struct alignas(64) VarState : base::InBlockCache<VarState> {
  VarState(std::uint64_t engine, std::string_view given_name);
  ~VarState();
  VarState(const VarState&) = delete;
  VarState& operator=(const VarState&) = delete;

  std::atomic<std::uint32_t> references{1};
  base::SpinLock lock;
  bool deleted = false;
  /// While no operation on it is pending: nothing of the newest version matters to what follows.
  bool is_clean = true;
  const std::uint64_t engine_id;
  std::uint64_t version = 0;    ///< ended operations that mutate it
  std::uint64_t last_push = 0;  ///< the last push that named it: folds duplicates
  std::uint64_t accesses = 0;   ///< of operations that have not ended
  Epoch* newest;                ///< the version that the next push meets
  FailurePtr poison;            ///< of the naive engine; the tracker keeps it per version

  const std::string name;
};

/// Throws std::invalid_argument, naming `call`, unless `var` is a live variable of `engine_id`.
/// Reads `deleted`: the caller holds the engine's lock.
void check_usable(const VarState* var, std::uint64_t engine_id, std::string_view call);

}  // namespace heddle::detail
