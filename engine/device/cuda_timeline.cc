#include "engine/device/cuda_timeline.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "heddle/error.h"

namespace heddle::device {
namespace {

/// All stream ids of the process.
///
/// Thread safety: the mutex guards everything.
struct Timelines {
  struct Slot {
    std::shared_ptr<CudaTimeline> timeline;  // null: no living stream has the id
    std::uint64_t reached = 0;               // by the streams that had it before
  };

  base::Mutex mutex;
  std::vector<Slot> slots{1};  // id 0 is left to Token{}
  std::vector<std::uint16_t> free_ids;
};

Timelines& timelines() {
  // Leaked: streams of engines that are never destroyed work on while the process exits.
  static auto* const instance = new Timelines;
  return *instance;
}

}  // namespace

std::shared_ptr<CudaTimeline> open_timeline(CudaGpu& gpu) {
  Timelines& all = timelines();
  const std::lock_guard lock(all.mutex);
  if (all.free_ids.empty()) {
    const std::size_t id = all.slots.size();
    if (id > std::numeric_limits<std::uint16_t>::max()) {
      throw DeviceError("[cuda:" + std::to_string(gpu.index()) +
                        "] out of stream ids: expected at most 65535 streams at a time");
    }
    all.free_ids.reserve(id);  // so that close_timeline() allocates nothing
    all.slots.emplace_back();
    all.free_ids.push_back(static_cast<std::uint16_t>(id));
  }
  const std::uint16_t id = all.free_ids.back();
  Timelines::Slot& slot = all.slots[id];
  slot.timeline = std::make_shared<CudaTimeline>(gpu, id, slot.reached);
  all.free_ids.pop_back();
  return slot.timeline;
}

void close_timeline(const CudaTimeline& timeline) noexcept {
  Timelines& all = timelines();
  const std::lock_guard lock(all.mutex);
  Timelines::Slot& slot = all.slots[timeline.id()];
  slot.reached = timeline.reached();
  slot.timeline = nullptr;
  all.free_ids.push_back(timeline.id());
}

std::shared_ptr<CudaTimeline> find_timeline(std::uint16_t id) {
  Timelines& all = timelines();
  const std::lock_guard lock(all.mutex);
  return id < all.slots.size() ? all.slots[id].timeline : nullptr;
}

bool is_reached(Token token) {
  const std::shared_ptr<CudaTimeline> timeline = find_timeline(token.stream());
  return timeline == nullptr || timeline->reached() >= token.sequence();
}

bool is_done(Token token) {
  const std::shared_ptr<CudaTimeline> timeline = find_timeline(token.stream());
  return timeline == nullptr || timeline->is_done(token.sequence());
}

bool is_submitted(Token token) {
  const std::shared_ptr<CudaTimeline> timeline = find_timeline(token.stream());
  return timeline == nullptr || timeline->is_submitted(token.sequence());
}

CudaTimeline::~CudaTimeline() {
  if (spare_events_.empty()) return;
  const CudaCurrent current(gpu_);
  for (cudaEvent_t event : spare_events_) static_cast<void>(cudaEventDestroy(event));
  static_cast<void>(cudaGetLastError());
}

cudaError_t CudaTimeline::take_event(cudaEvent_t& event) {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_events_.empty()) {
      event = spare_events_.back();
      spare_events_.pop_back();
      return cudaSuccess;
    }
  }
  return cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
}

/// One that has not left; under the mutex.
CudaPiece& CudaTimeline::piece(std::uint64_t sequence) {
  const std::uint64_t reached = reached_.load(std::memory_order_relaxed);
  return pieces_[static_cast<std::size_t>(sequence - reached - 1)];
}

bool CudaTimeline::add(CudaPiece piece) {
  const std::lock_guard lock(mutex_);
  pieces_.push_back(std::move(piece));
  if (!pieces_.back().is_held) {
    submitted_ = reached_.load(std::memory_order_relaxed) + pieces_.size();
    pieces_.back().told_by = submitted_;
  }
  // So that to give events back allocates nothing.
  spare_events_.reserve(spare_events_.size() + pieces_.size());
  return !std::exchange(watched_, true);
}

void CudaTimeline::submit(cudaEvent_t event, const std::exception_ptr& failure) {
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t last = reached_.load(std::memory_order_relaxed) + pieces_.size();
    for (std::uint64_t sequence = submitted_ + 1; sequence <= last; ++sequence) {
      CudaPiece& held = piece(sequence);
      held.told_by = last;
      if (held.failure == nullptr) held.failure = failure;
    }
    pieces_.back().event = event;
    submitted_ = last;
  }
  changed_.notify_all();
}

bool CudaTimeline::is_submitted(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  return sequence <= submitted_;
}

void CudaTimeline::wait_until_submitted(std::uint64_t sequence) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return sequence <= submitted_; });
}

cudaError_t CudaTimeline::delay(cudaStream_t stream, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (sequence <= reached_.load(std::memory_order_relaxed)) return cudaSuccess;
  const CudaPiece& teller = piece(piece(sequence).told_by);
  // Without an event it has ended, or its GPU is lost, and the piece and all that depends on it
  // fail on the host.
  if (teller.event == nullptr) return cudaSuccess;
  return cudaStreamWaitEvent(stream, teller.event, 0);
}

bool CudaTimeline::is_done(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (sequence <= reached_.load(std::memory_order_relaxed)) return true;
  if (gpu_.is_lost() || sequence > submitted_) return false;
  const CudaPiece& teller = piece(piece(sequence).told_by);
  if (teller.event == nullptr) return teller.has_ended;
  const cudaError_t state = cudaEventQuery(teller.event);
  // What else it says is found, and told, by the completion thread.
  if (state != cudaSuccess) static_cast<void>(cudaGetLastError());
  return state == cudaSuccess;
}

void CudaTimeline::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pieces_.empty(); });
}

bool CudaTimeline::finish_some() {
  bool any = false;
  while (front_is_done()) {
    finish_front();
    any = true;
  }
  return any;
}

bool CudaTimeline::stop_watching() {
  const std::lock_guard lock(mutex_);
  if (!pieces_.empty()) return false;
  watched_ = false;
  return true;
}

// Only the completion thread, which the caller is, takes pieces out, and others append behind the
// front: so the front piece stays in place without the mutex.

bool CudaTimeline::front_is_done() {
  const CudaPiece* front = nullptr;
  cudaEvent_t event = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty() || pieces_.front().told_by == 0) return false;
    front = &pieces_.front();
    if (front->told_by > done_) event = piece(front->told_by).event;
  }
  if (!gpu_.is_lost() && event != nullptr) {
    const cudaError_t state = cudaEventQuery(event);
    if (state != cudaSuccess) static_cast<void>(cudaGetLastError());
    if (state == cudaErrorNotReady) return false;
    if (state != cudaSuccess) gpu_.lose(state, "cudaEventQuery, for work issued before");
  }
  done_ = front->told_by;
  return std::all_of(front->waits.begin(), front->waits.end(), is_reached);
}

void CudaTimeline::finish_front() {
  CudaPiece* front = nullptr;
  {
    const std::lock_guard lock(mutex_);
    front = &pieces_.front();
  }
  if (gpu_.is_lost() && !front->has_ended && front->failure == nullptr) {
    front->failure = gpu_.loss();
  }
  for (UniqueFunction<void()>& ending : front->endings) {
    try {
      ending();
    } catch (...) {
      if (front->failure == nullptr) front->failure = std::current_exception();
    }
  }
  front->endings.clear();
  const Work work = front->work;
  if (front->failure != nullptr && work.failed != nullptr) {
    work.failed(work.argument, std::exchange(front->failure, nullptr));
  }
  work.finished(work.argument);
  const std::lock_guard lock(mutex_);
  if (front->event != nullptr) spare_events_.push_back(front->event);
  pieces_.pop_front();
  reached_.store(reached_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (pieces_.empty()) changed_.notify_all();
}

}  // namespace heddle::device
