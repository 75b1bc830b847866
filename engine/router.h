#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/base/sync.h"
#include "engine/lane_queue.h"
#include "engine/pool_group.h"
#include "engine/stream_lane.h"
#include "engine/worker_pool.h"

namespace heddle::detail {

class ThreadedEngine;

/// Finds the queue of a (device, lane); makes it, and so its threads, when it is first asked for.
///
///   kThreaded   every lane of the CPU has a pool of its own
///   kPooled     all lanes of the CPU but kBlocking share one
///   a GPU       every lane is a stream; simulated compute borrows the CPU's compute pool
///
/// Thread safety: every member may be called from any thread, stop() once.
class Router {
 public:
  explicit Router(ThreadedEngine& engine) : engine_(engine) {}
  /// Throws if a thread or a stream cannot be made; EngineStopped after stop().
  LaneQueue& find(Device device, Lane lane) {
    const Row* const row = device.is_gpu() ? row_of(device) : &cpu_;
    LaneQueue* const queue =
        row != nullptr ? (*row)[static_cast<std::size_t>(lane)].load() : nullptr;
    return queue != nullptr ? *queue : make(device, lane);
  }
  /// Where blocks of a GPU are given back that frees early (see Backend).
  LaneQueue& find_frees(Device gpu) {
    const Row* const row = row_of(gpu);
    LaneQueue* const queue = row != nullptr ? (*row)[kFrees].load() : nullptr;
    return queue != nullptr ? *queue : make_stream(gpu, kFrees);
  }
  /// The workers that compute on the CPU; null if nothing has asked for them yet.
  WorkerPool* compute_pool() const {
    return static_cast<WorkerPool*>(cpu_[static_cast<std::size_t>(Lane::kCompute)].load());
  }
  /// Somebody waits for everything that has been issued to streams.
  void hurry();
  /// Number of queues made.
  int size() const { return size_.load(std::memory_order_relaxed); }
  /// Ends all threads, which may use the engine in their end. Every queue must be empty and stay
  /// so.
  void stop();

 private:
  static constexpr std::size_t kLanes = 5;
  static constexpr std::size_t kFrees = kLanes;  ///< of a GPU, beside its lanes
  static constexpr std::size_t kMaxGpus = 256;
  using Row = std::array<base::Atomic<LaneQueue*>, kLanes + 1>;

  /// Of a GPU; null if nothing has been asked for there yet.
  const Row* row_of(Device gpu) const {
    return gpus_.at(static_cast<std::size_t>(gpu.id())).load();
  }
  LaneQueue& make(Device device, Lane lane);
  LaneQueue& make_stream(Device gpu, std::size_t place);
  WorkerPool& cpu_pool(Lane lane);
  /// With the lock. Throws EngineStopped.
  void check_goes_on() const;

  ThreadedEngine& engine_;
  base::Atomic<int> size_{0};
  Row cpu_{};
  std::array<base::Atomic<Row*>, kMaxGpus> gpus_{};

  base::Mutex mutex_;  ///< guards what follows, but for who stops it all, and the making of queues
  bool is_stopped_ = false;
  std::vector<std::unique_ptr<Row>> rows_;
  PoolGroup group_;
  std::vector<std::unique_ptr<WorkerPool>> pools_;
  std::vector<std::unique_ptr<StreamLane>> streams_;
};

}  // namespace heddle::detail
