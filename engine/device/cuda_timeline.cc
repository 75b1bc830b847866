#include "engine/device/cuda_timeline.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "heddle/error.h"

#include "engine/device/cuda_completion.h"

namespace heddle::device {
namespace {

/// All stream ids of the process.
///
/// Thread safety: the mutex guards everything.
struct Timelines {
  base::Mutex mutex;
  // By id; null: no living stream has it. Id 0 is left to Token{}.
  std::vector<std::shared_ptr<CudaTimeline>> open{1};
  std::vector<std::uint16_t> free_ids;
};

/// By id: the last sequence of which everything has left. It stays when the stream is gone.
std::array<base::Atomic<std::uint64_t>, std::numeric_limits<std::uint16_t>::max() + 1> g_reached{};

Timelines& timelines() {
  // Leaked: streams of engines that are never destroyed work on while the process exits.
  static auto* const instance = new Timelines;
  return *instance;
}

/// The calling thread captures a stream of its own just then, and may ask nothing.
bool is_about_capture(cudaError_t state) {
  return state == cudaErrorStreamCaptureUnsupported || state == cudaErrorStreamCaptureImplicit;
}

}  // namespace

std::shared_ptr<CudaTimeline> open_timeline(CudaGpu& gpu) {
  Timelines& all = timelines();
  const std::lock_guard lock(all.mutex);
  if (all.free_ids.empty()) {
    const std::size_t id = all.open.size();
    if (id > std::numeric_limits<std::uint16_t>::max()) {
      throw DeviceError("[cuda:" + std::to_string(gpu.index()) +
                        "] out of stream ids: expected at most 65535 streams at a time");
    }
    all.free_ids.reserve(id);                      // so that close_timeline() allocates nothing
    CudaCompletion::instance().make_room(2 * id);  // the one before of an id may be there, too
    all.open.emplace_back();
    all.free_ids.push_back(static_cast<std::uint16_t>(id));
  }
  const std::uint16_t id = all.free_ids.back();
  all.open[id] = std::make_shared<CudaTimeline>(gpu, id, g_reached[id]);
  all.free_ids.pop_back();
  return all.open[id];
}

void close_timeline(const CudaTimeline& timeline) noexcept {
  Timelines& all = timelines();
  const std::lock_guard lock(all.mutex);
  all.open[timeline.id()] = nullptr;
  all.free_ids.push_back(timeline.id());
}

std::shared_ptr<CudaTimeline> find_timeline(std::uint16_t id) {
  Timelines& all = timelines();
  const std::lock_guard lock(all.mutex);
  return id < all.open.size() ? all.open[id] : nullptr;
}

bool is_reached(Token token) {
  return g_reached[token.stream()].load(std::memory_order_acquire) >= token.sequence();
}

bool is_done(Token token) {
  const std::shared_ptr<CudaTimeline> timeline = find_timeline(token.stream());
  return timeline == nullptr || timeline->is_done(token.sequence());
}

bool is_submitted(Token token) {
  const std::shared_ptr<CudaTimeline> timeline = find_timeline(token.stream());
  return timeline == nullptr || timeline->is_submitted(token.sequence());
}

void CudaPiece::clear() noexcept {
  event = nullptr;
  has_ended = is_held = false;
  told_by = 0;
  waits.clear();
  endings.clear();
  scratch.clear();
  failure = nullptr;
}

CudaTimeline::~CudaTimeline() {
  if (all_.empty()) return;
  const CudaCurrent current(gpu_);
  for (const auto& piece : all_) {
    if (piece->own_event != nullptr) static_cast<void>(cudaEventDestroy(piece->own_event));
  }
  static_cast<void>(cudaGetLastError());
}

CudaPiece& CudaTimeline::next() {
  if (next_ == nullptr) {
    auto made = std::make_unique<CudaPiece>();
    const std::lock_guard lock(mutex_);
    if (spare_.capacity() <= all_.size()) spare_.reserve(2 * all_.size() + 1);
    if (!pieces_.reserve(all_.size() + 1)) throw std::bad_alloc();
    all_.push_back(std::move(made));
    next_ = all_.back().get();
  }
  next_->clear();
  return *next_;
}

/// One that has not left; under the mutex.
CudaPiece& CudaTimeline::piece(std::uint64_t sequence) {
  const std::uint64_t reached = reached_.load(std::memory_order_relaxed);
  return *pieces_[pieces_.begin() + (sequence - reached - 1)];
}

void CudaTimeline::add() {
  CudaPiece& piece = *next_;
  const bool is_awaited = piece.work.is_awaited;
  {
    const std::lock_guard lock(mutex_);
    static_cast<void>(pieces_.push_back(&piece));  // there is room
    const std::uint64_t sequence = issued_.load(std::memory_order_relaxed) + 1;
    issued_.store(sequence);
    if (!piece.is_held) submitted_ = piece.told_by = sequence;
    if (is_awaited) make_urgent(sequence);
    next_ = spare_.empty() ? nullptr : spare_.back();
    if (next_ != nullptr) spare_.pop_back();
    if (!std::exchange(watched_, true)) CudaCompletion::instance().watch(shared_from_this());
  }
  if (is_awaited) CudaCompletion::instance().hurry();
}

void CudaTimeline::submit(const std::exception_ptr& failure) {
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t last = issued_.load(std::memory_order_relaxed);
    for (std::uint64_t sequence = submitted_ + 1; sequence <= last; ++sequence) {
      CudaPiece& held = piece(sequence);
      held.told_by = last;
      if (held.failure == nullptr) held.failure = failure;
    }
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
  // What else it says is found, and told, by who asks for all.
  if (state != cudaSuccess) static_cast<void>(cudaGetLastError());
  return state == cudaSuccess;
}

void CudaTimeline::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pieces_.empty(); });
}

void CudaTimeline::make_urgent(std::uint64_t sequence) noexcept {
  std::uint64_t urgent = urgent_.load();
  while (urgent < sequence && !urgent_.compare_exchange_weak(urgent, sequence)) {
  }
}

void CudaTimeline::hurry() noexcept {
  make_urgent(issued_.load());
  CudaCompletion::instance().hurry();
}

bool CudaTimeline::stop_watching() {
  const std::lock_guard lock(mutex_);
  if (!pieces_.empty()) return false;
  watched_ = false;
  return true;
}

// Only who asks, which the caller is, takes pieces out, and others append behind them: so pieces
// stay in place without the mutex.

bool CudaTimeline::finish_some() {
  ask();
  bool any = false;
  while (finish_done()) any = true;
  return any;
}

/// For the oldest, and then further and further ahead; not for what is submitted meanwhile, which
/// could go on for ever.
void CudaTimeline::ask() {
  std::uint64_t submitted = 0;
  {
    const std::lock_guard lock(mutex_);
    submitted = submitted_;
  }
  for (std::uint64_t step = 1; done_ < submitted; step *= 2) {
    if (!ask_for(std::min(done_ + step, submitted))) return;
  }
}

/// True if the GPU has done the piece, which it has got; done_ says up to where, then.
bool CudaTimeline::ask_for(std::uint64_t sequence) {
  std::uint64_t teller = 0;
  cudaEvent_t event = nullptr;
  {
    const std::lock_guard lock(mutex_);
    teller = piece(sequence).told_by;
    event = piece(teller).event;
  }
  if (!gpu_.is_lost() && event != nullptr) {
    const cudaError_t state = cudaEventQuery(event);
    if (state != cudaSuccess) static_cast<void>(cudaGetLastError());
    if (state == cudaErrorNotReady || is_about_capture(state)) return false;
    if (state != cudaSuccess) gpu_.lose(state, "cudaEventQuery, for work issued before");
  }
  done_ = teller;
  return true;
}

/// Finishes pieces that the GPU has done. True if there was one that had to wait for no other.
bool CudaTimeline::finish_done() {
  std::array<CudaPiece*, 16> pieces{};
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t reached = reached_.load(std::memory_order_relaxed);
    // If all has left, another stream may have the id by now.
    if (done_ > reached) count = std::min<std::size_t>(done_ - reached, pieces.size());
    for (std::size_t i = 0; i < count; ++i) pieces[i] = pieces_[pieces_.begin() + i];
  }
  std::size_t finished = 0;
  for (; finished < count; ++finished) {
    CudaPiece& piece = *pieces[finished];
    if (!std::all_of(piece.waits.begin(), piece.waits.end(), is_reached)) break;
    finish(piece);
  }
  if (finished == 0) return false;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < finished; ++i) spare_.push_back(pieces_.pop_front());
  reached_.store(reached_.load(std::memory_order_relaxed) + finished, std::memory_order_release);
  if (pieces_.empty()) changed_.notify_all();
  return true;
}

void CudaTimeline::finish(CudaPiece& piece) {
  if (gpu_.is_lost() && !piece.has_ended && piece.failure == nullptr) piece.failure = gpu_.loss();
  for (UniqueFunction<void()>& ending : piece.endings) {
    try {
      ending();
    } catch (...) {
      if (piece.failure == nullptr) piece.failure = std::current_exception();
    }
  }
  piece.endings.clear();
  const Work& work = piece.work;
  if (piece.failure != nullptr && work.failed != nullptr) {
    work.failed(work.argument, std::exchange(piece.failure, nullptr));
  }
  work.finished(work.argument);
}

}  // namespace heddle::device
