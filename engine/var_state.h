#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/var.h"

#include "engine/base/block_cache.h"
#include "engine/base/sync.h"
#include "engine/failure.h"

namespace heddle::detail {

struct Access;
struct Waiter;

/// What a Var refers to.
///
/// Thread safety: `handles` and `remaining` are atomic; what the first line says of pushes is
/// guarded by the lock of the engine's Intake, or belongs to who pushes an open block, and
/// `deleted` by that and the ledger's; the rest, but for what is const, by the ledger's.
///
/// Three lines: who pushes needs the first, who takes note of pushes and ends the second, and
/// hardly anybody the third.
///
/// Lifetime: until the last handle has gone and every access that a push has named has ended. A
/// push counts the accesses that it names without an atomic operation, in `named`: that is final
/// when the last handle goes, as only who has a handle can push. Then they are set against those
/// that have ended, in `remaining`, and whoever makes that 0 is the last. Who counts down releases
/// what it has done and acquires what others have. The engine is named by a number that is never
/// reused, so a handle may outlive it.
struct alignas(64) VarState : base::InBlockCache<VarState> {
  VarState(std::uint64_t engine, std::string_view given_name);
  VarState(const VarState&) = delete;
  VarState& operator=(const VarState&) = delete;

  base::Atomic<std::uint32_t> handles{1};
  bool deleted = false;
  const std::uint64_t engine_id;
  std::uint64_t named = 0;  ///< how often pushes to a ThreadedEngine have named it
  const std::string name;

  alignas(64) bool is_poisoned = false;  ///< `poison`, which lies on another line, is not null
  std::uint32_t ended = 0;       ///< accesses of `named` that are not yet told to `remaining`
  std::uint64_t version = 0;     ///< ended operations that mutate it
  std::uint64_t last_push = 0;   ///< a number of the last push that named it: folds duplicates
  Access* oldest = nullptr;      ///< of the accesses that have not ended
  Access* newest = nullptr;      ///< of the same
  Access* last_write = nullptr;  ///< the newest of them that is a write
  Waiter* waiters = nullptr;     ///< threads that wait for some of them
  /// While there are handles kHandles less the accesses that have ended; then those that have not.
  base::Atomic<std::uint64_t> remaining{kHandles};

  alignas(64) FailurePtr poison;  ///< after the last ended write
  std::uint64_t trace_id = 0;     ///< given by the first traced push that names it

  static constexpr std::uint64_t kHandles = std::uint64_t{1} << 63U;
  /// Then they are told to `remaining` although there are others.
  static constexpr std::uint32_t kMostEnded = std::uint32_t{1} << 31U;

  /// Returns the one before.
  FailurePtr carry(FailurePtr new_poison) {
    is_poisoned = new_poison != nullptr;
    return std::exchange(poison, std::move(new_poison));
  }
};

/// So many of what `remaining` counts are gone; destroys `var` if nothing is left.
void settle(VarState& var, std::uint64_t count) noexcept;
/// The same, but true if nothing is left: then the caller destroys `var`.
bool settles_last(VarState& var, std::uint64_t count) noexcept;

/// The trace_id of `var`, which gets one if it has none: a number that no other variable of the
/// process ever has, unlike the address. The caller holds the engine's lock.
std::uint64_t give_trace_id(VarState& var);

/// What EngineCore::describe_writer says of a variable that nobody will write, and of one whose
/// last pending writer is operation `sequence`; `name` may be empty.
std::string writer_text(const VarState& var);
std::string writer_text(const VarState& var, std::string_view name, std::uint64_t sequence);

/// `place`: where it stands in the arguments of the call, if it is not the only one.
[[noreturn, gnu::cold]] void refuse_variable(const VarState* var, std::uint64_t engine_id,
                                             std::string_view call, std::string_view place = {});

/// True if `var` is a live variable of `engine_id`. Reads `deleted`: the caller holds a lock that
/// guards it.
inline bool is_usable(const VarState* var, std::uint64_t engine_id) {
  return var != nullptr && var->engine_id == engine_id && !var->deleted;
}

/// Throws std::invalid_argument, naming `call`, unless `var` is usable.
inline void check_usable(const VarState* var, std::uint64_t engine_id, std::string_view call) {
  if (!is_usable(var, engine_id)) [[unlikely]] {
    refuse_variable(var, engine_id, call);
  }
}

inline bool are_usable(VarList list, std::uint64_t engine_id) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!is_usable(list[i], engine_id)) return false;
  }
  return true;
}

/// Some of what a push names is not: the message says where in which list that stands, and the name
/// of the `operation`, if it has one.
[[noreturn, gnu::cold]] void refuse_variables(VarList mutates, VarList reads,
                                              std::uint64_t engine_id, std::string_view call,
                                              std::string_view operation = {});

/// Throws std::invalid_argument, as above, unless all are usable.
inline void check_usable(VarList mutates, VarList reads, std::uint64_t engine_id,
                         std::string_view call, std::string_view operation = {}) {
  if (!are_usable(mutates, engine_id) || !are_usable(reads, engine_id)) [[unlikely]] {
    refuse_variables(mutates, reads, engine_id, call, operation);
  }
}

}  // namespace heddle::detail
