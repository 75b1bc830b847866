#pragma once

#include <cstdint>
#include <optional>

#include "heddle/device.h"

#include "engine/lane_queue.h"
#include "engine/ready_node.h"

namespace heddle::detail {

class ThreadedEngine;
class WorkerPool;

/// The operations that a waiting thread may run: those that it waits for.
struct Wanted {
  const ReadyNode* node = nullptr;  ///< just this one, if it still has
  std::uint64_t sequence = 0;       ///< that number;
  std::uint64_t generations = 0;    ///< without one, all of generations before this

  bool covers(const ReadyPlace& place) const;
};

/// A thread that waits and, instead of a worker that is idle, runs operations meanwhile: what is
/// waited for need not go to another core and come back, and the core is not left alone.
///
/// Thread safety: an object belongs to the thread that made it.
class Guest {
 public:
  Guest(ThreadedEngine& engine, WorkerPool& pool);
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  /// False if run() would find no seat.
  bool may_run() const;
  /// Runs the next operation of the pool if that is wanted and a worker is idle. False if not.
  bool run(const Wanted& wanted);
  /// Asks for a worker's seat where that would do good: where workers share a CPU although the one
  /// that this thread is on would be left alone. True while it should be awake for that; then it
  /// looks for what it could run now and then, and calls this again.
  bool asks_for_seat();

 private:
  static constexpr int kPatience = 512;

  Operation* next(const Wanted& wanted);
  /// What the thread has set for itself, and an operation must not see.
  class Own {
   public:
    explicit Own(const WorkerPool& pool);
    ~Own();
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;

   private:
    const WorkerPool& pool_;
    const Device device_;
    const int openmp_threads_;
  };

  ThreadedEngine& engine_;
  WorkerPool& pool_;
  std::optional<Own> own_;           ///< while it may run something, that is put aside
  int patience_ = kPatience;         ///< how often it may still ask
  bool asks_ = false;                ///< so it has no seat yet
  bool has_seat_ = false;            ///< it runs instead of a worker
  Operation* made_ready_ = nullptr;  ///< by the last one that it ran; of the pool
};

}  // namespace heddle::detail
