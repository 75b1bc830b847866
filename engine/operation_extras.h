#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "engine/access.h"
#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/engine_core.h"
#include "engine/model_op.h"
#include "engine/op_name.h"

namespace heddle::detail {

/// What only some operations have.
struct OperationExtras {
  /// Makes room for so many accesses of `owner`, whose extras these are, if they do not lie in it.
  /// Throws std::bad_alloc.
  void reserve(Operation& owner, std::size_t count) {
    if (count <= capacity) return;
    accesses = std::make_unique<FarAccess[]>(count);
    capacity = count;
    for (std::size_t i = 0; i != count; ++i) accesses[i].owner = &owner;
  }

  AsyncTask async_task;
  base::Atomic<int> parts{0};  ///< of an asynchronous operation: callable, completion
  std::exception_ptr failed;   ///< by the Completion
  device::Token token;         ///< once issued to a stream
  bool issued = false;         ///< it stands in the order of its stream; under the lock
  bool ended_early = false;    ///< its stream was done with it before it was issued; under the lock
  CancelToken cancel;          ///< if kCancellable
  device::RecordedPlace recorded;
  bool has_place = false;  ///< among those in flight of its StreamLane
  /// Of one that follows what is issued: what it was pushed behind does not, and was not issued.
  bool waits_on_host = false;
  std::uint64_t announced = 0;  ///< its number in its lane's AnnouncedOps, or 0
  OpName name;
  std::unique_ptr<FarAccess[]> accesses;  ///< of an operation with more than kInlineAccesses
  std::uint32_t access_count = 0;         ///< that are in use
  std::size_t capacity = 0;               ///< of `accesses`

  // If traced.
  std::int64_t pushed_at = 0;
  std::int64_t ready_at = 0;
  std::int64_t issued_at = 0;
  std::int64_t started_at = 0;
  ModelCost cost;
};

}  // namespace heddle::detail
