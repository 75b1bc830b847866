#pragma once

#include <cstdint>
#include <vector>

#include "heddle/device.h"
#include "heddle/options.h"
#include "heddle/trace.h"

namespace heddle::detail {

class EngineCore;
struct Submission;
struct VarState;

/// What the push of an operation says for the model clock.
struct ModelCost {
  double flops = 0;
  std::uint64_t bytes = 0;            ///< in the memory of its device
  std::vector<CopyCost> copies = {};  ///< if there are any, in place of the above
  int priority = 0;                   ///< as it was pushed, whatever was lent to it since
  bool is_deletion = false;           ///< of a variable: lends no priority
  /// Which pushed it; 0: an operation of the same engine did, on whichever thread.
  std::uint32_t thread = 0;

  /// Of a push to `engine` by the calling thread.
  static ModelCost of(const Submission& submission, const EngineCore& engine);
  /// Of an operation that did not run, in its place.
  void clear_work() {
    flops = 0;
    bytes = 0;
    copies.clear();
  }
};

/// An operation as the model clock sees it.
struct ModelOp {
  struct Access {
    std::uint64_t variable = 0;  ///< its trace_id
    bool write = false;
  };

  std::uint64_t sequence = 0;
  Device device = {};
  Lane lane = Lane::kCompute;
  ModelCost cost = {};
  std::vector<Access> accesses = {};
};

/// A thread that waited: for the writes of a variable, and also its reads, or for everything.
struct ModelWait {
  std::uint32_t thread = 0;
  std::uint64_t after = 0;     ///< covers operations up to this sequence number
  std::uint64_t variable = 0;  ///< its trace_id; 0: everything
  bool reads_too = false;

  /// A wait of the calling thread; null: for everything. The caller holds the engine's lock.
  static ModelWait of(VarState* var, bool reads_too, std::uint64_t last_sequence);
};

}  // namespace heddle::detail
