#include "engine/router.h"

#include <limits>
#include <utility>

#include "engine/base/cpus.h"
#include "engine/device/backend.h"
#include "engine/stop.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {

LaneQueue& Router::make(Device device, Lane lane) {
  if (device.is_gpu()) return make_stream(device, static_cast<std::size_t>(lane));
  const std::lock_guard lock(mutex_);
  check_goes_on();
  return cpu_pool(lane);
}

void Router::check_goes_on() const {
  if (is_stopped_) throw_stopped("Engine::push");
}

LaneQueue& Router::make_stream(Device gpu, std::size_t place) {
  const std::lock_guard lock(mutex_);
  check_goes_on();
  base::Atomic<Row*>& slot = gpus_[static_cast<std::size_t>(gpu.id())];
  if (slot.load() == nullptr) {
    rows_.push_back(std::make_unique<Row>());
    slot.store(rows_.back().get());
  }
  base::Atomic<LaneQueue*>& queue = (*slot.load())[place];
  if (queue.load() == nullptr) {
    device::Backend& backend = device::backend_of(gpu);
    const auto lane = static_cast<Lane>(place);
    const EngineOptions& options = engine_.options();
    const bool on_host = backend.runs_cpu_kernels();
    int window = lane == Lane::kCompute ? options.compute_window : options.copy_window;
    std::unique_ptr<device::Stream> stream;
    WorkerPool* pool = nullptr;
    // A copy that stands in its stream while it waits for a far-off producer would hold up every
    // copy behind it: there it is better to wait on the host, where priorities count.
    const bool follows_issued = lane == Lane::kCompute || place == kFrees;
    const std::uint16_t flags = follows_issued ? +Operation::kFollowsIssued : 0;
    if (place == kFrees) {
      window = std::numeric_limits<int>::max();
      stream = backend.make_free_stream();
    } else {
      WorkerPool& executor = cpu_pool(Lane::kCompute);
      stream = backend.make_stream(lane, executor);
      if (on_host && lane == Lane::kCompute) pool = &executor;
    }
    streams_.push_back(
        std::make_unique<StreamLane>(engine_, std::move(stream), flags, on_host, pool, window));
    size_.fetch_add(1);
    queue.store(streams_.back().get());
  }
  return *queue.load();
}

WorkerPool& Router::cpu_pool(Lane lane) {
  base::Atomic<LaneQueue*>& asked = cpu_[static_cast<std::size_t>(lane)];
  const bool pooled = engine_.options().kind == EngineKind::kPooled;
  if (pooled && lane != Lane::kBlocking) lane = Lane::kCompute;
  base::Atomic<LaneQueue*>& queue = cpu_[static_cast<std::size_t>(lane)];
  if (queue.load() == nullptr) {
    engine_.watch();
    const int threads = lane == Lane::kCompute ? engine_.options().cpu_workers : 1;
    // The threads of other lanes mostly sleep: the CPUs are for those that compute.
    const bool spins = lane == Lane::kCompute && (threads == 1 || threads <= base::usable_cpus());
    pools_.reserve(kLanes);  // before there are threads, which a pool that is made does not end
    pools_.push_back(std::make_unique<WorkerPool>(engine_, group_, threads, spins));
    group_.add(*pools_.back(), spins ? threads : 0);
    size_.fetch_add(1);
    queue.store(pools_.back().get());
  }
  asked.store(queue.load());
  return static_cast<WorkerPool&>(*queue.load());
}

void Router::hurry() {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  for (const auto& lane : streams_) lane->hurry();
}

void Router::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  for (const auto& pool : pools_) pool->stop();
  group_.stop();
  // A stream's thread may still be leaving another lane, to which it has just given an operation.
  for (const auto& lane : streams_) lane->close();
  streams_.clear();
}

}  // namespace heddle::detail
