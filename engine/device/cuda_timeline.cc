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

bool CudaTimeline::add(CudaPiece piece) {
  const std::lock_guard lock(mutex_);
  pieces_.push_back(std::move(piece));
  // So that to give events back allocates nothing.
  spare_events_.reserve(spare_events_.size() + pieces_.size());
  return !std::exchange(watched_, true);
}

cudaError_t CudaTimeline::delay(cudaStream_t stream, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t reached = reached_.load(std::memory_order_relaxed);
  if (sequence <= reached) return cudaSuccess;
  const CudaPiece& piece = pieces_[static_cast<std::size_t>(sequence - reached - 1)];
  // Without an event it has ended, or its GPU is lost, and the piece and all that depends on it
  // fail on the host.
  if (piece.event == nullptr) return cudaSuccess;
  return cudaStreamWaitEvent(stream, piece.event, 0);
}

bool CudaTimeline::is_done(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t reached = reached_.load(std::memory_order_relaxed);
  if (sequence <= reached) return true;
  if (gpu_.is_lost()) return false;
  const CudaPiece& piece = pieces_[static_cast<std::size_t>(sequence - reached - 1)];
  if (piece.event == nullptr) return piece.has_ended;
  const cudaError_t state = cudaEventQuery(piece.event);
  // What else it says is found, and told, by the completion thread.
  if (state != cudaSuccess) static_cast<void>(cudaGetLastError());
  return state == cudaSuccess;
}

void CudaTimeline::wait_until_empty() {
  std::unique_lock lock(mutex_);
  empty_.wait(lock, [this] { return pieces_.empty(); });
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
  const CudaPiece* piece = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) return false;
    piece = &pieces_.front();
  }
  if (!gpu_.is_lost() && piece->event != nullptr) {
    const cudaError_t state = cudaEventQuery(piece->event);
    if (state != cudaSuccess) static_cast<void>(cudaGetLastError());
    if (state == cudaErrorNotReady) return false;
    if (state != cudaSuccess) gpu_.lose(state, "cudaEventQuery, for work issued before");
  }
  return std::all_of(piece->waits.begin(), piece->waits.end(), is_reached);
}

void CudaTimeline::finish_front() {
  CudaPiece* piece = nullptr;
  {
    const std::lock_guard lock(mutex_);
    piece = &pieces_.front();
  }
  if (gpu_.is_lost() && !piece->has_ended && piece->failure == nullptr) {
    piece->failure = gpu_.loss();
  }
  for (UniqueFunction<void()>& ending : piece->endings) {
    try {
      ending();
    } catch (...) {
      if (piece->failure == nullptr) piece->failure = std::current_exception();
    }
  }
  piece->endings.clear();
  const Work work = piece->work;
  if (piece->failure != nullptr && work.failed != nullptr) {
    work.failed(work.argument, std::exchange(piece->failure, nullptr));
  }
  work.finished(work.argument);
  const std::lock_guard lock(mutex_);
  if (piece->event != nullptr) spare_events_.push_back(piece->event);
  pieces_.pop_front();
  reached_.store(reached_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (pieces_.empty()) empty_.notify_all();
}

}  // namespace heddle::device
