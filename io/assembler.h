#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "heddle/io.h"
#include "heddle/ndarray.h"
#include "heddle/var.h"

#include "io/orders.h"
#include "io/schedule.h"

namespace heddle::io {

/// One batch on its way: what the operation that assembles it needs and leaves behind.
struct Assembly {
  Cursor cursor;
  std::vector<Piece> pieces;
  std::vector<std::shared_ptr<const Order>> orders;  ///< of the pieces; null: unshuffled
  NDArray host_data;                                 ///< on a CPU; what the assembly writes
  NDArray host_label;
  Batch batch;  ///< its arrays are the host's, or the copies on a GPU

  std::atomic<bool> cancelled{false};
  std::atomic<std::int64_t> finished{0};  ///< steady clock, nanoseconds; 0: not finished
  /// Written by the operation; to be read once the writes of host_data.var() are waited for.
  std::exception_ptr error;
};

/// Turns records into batches: one operation per batch, named "io.assemble".
///
/// Thread safety: push() calls are serialized by the caller, the rest may be called from any
/// thread. Kept alive by its operations, which may outlive the pipeline.
///
/// Invariants:
/// - An assembly reads and transforms straight into host_data. It mutates the variables of its two
///   host arrays and of one decoder; there are as many decoders as decode_threads, dealt in turn,
///   so the engine itself keeps that many assemblies from overlapping, and no more.
/// - What goes wrong is kept in Assembly::error and never fails the operation: it belongs to
///   next(), and a batch that is dropped before must not be heard of from the engine.
/// - The copy to a GPU is pushed by the assembly when it has succeeded, so before next() can
///   deliver the batch; a failed or cancelled assembly copies nothing.
/// - A cancelled assembly ends before its next record. `running_` counts those inside.
class Assembler : public std::enable_shared_from_this<Assembler> {
 public:
  Assembler(std::shared_ptr<const Reader> reader, const PipelineOptions& options);

  /// Makes the arrays of the batch that `plan` describes and pushes its assembly.
  std::shared_ptr<Assembly> push(const Cursor& cursor, Plan plan);

  /// Waits until no assembly runs, but no longer than `limit`.
  void wait_idle(std::chrono::milliseconds limit);

 private:
  class Running;

  void make_arrays(Assembly& assembly, std::int64_t rows) const;
  void run(Assembly& assembly);
  /// False if it was cancelled on the way.
  bool fill(Assembly& assembly) const;
  void fill_row(std::int64_t epoch, std::int64_t id, std::span<float> data, float& label) const;

  const std::shared_ptr<const Reader> reader_;
  const std::vector<Transform> transforms_;
  const std::uint64_t seed_;
  const std::vector<Device> devices_;
  Orders orders_;
  const bool shuffle_;
  std::vector<Var> decoders_;
  std::size_t next_decoder_ = 0;

  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;  // guarded by mutex_
};

}  // namespace heddle::io
