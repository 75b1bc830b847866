#include "engine/device/cuda_stream.h"

#include <new>
#include <utility>

#include "heddle/error.h"

#include "engine/base/scoped_value.h"
#include "engine/device/cuda_completion.h"
#include "engine/device/cuda_early_blocks.h"
#include "engine/device/cuda_ranges.h"
#include "engine/device/cuda_turn.h"
#include "engine/runtime.h"

namespace heddle::device {
namespace {
thread_local CudaStream* t_current = nullptr;
thread_local CudaStream* t_capturing = nullptr;
}  // namespace

CudaStream::CudaStream(CudaGpu& gpu, Lane lane)
    : gpu_(gpu),
      ends_each_piece_(resolved_runtime_options().debug_sync),
      captures_(lane == Lane::kCompute && !ends_each_piece_ &&
                resolved_runtime_options().cuda_graphs) {
  const CudaCurrent current(gpu_);
  if (!gpu_.is_lost()) {
    const cudaError_t result =
        cudaStreamCreateWithPriority(&handle_, cudaStreamNonBlocking, gpu_.stream_priority(lane));
    try {
      gpu_.check(result, "cudaStreamCreateWithPriority");
    } catch (const Error&) {
      if (!gpu_.is_lost()) throw;
    }
  }
  try {
    timeline_ = open_timeline(gpu_);
  } catch (...) {
    if (handle_ != nullptr) static_cast<void>(cudaStreamDestroy(handle_));
    throw;
  }
  issued_ = timeline_->reached();
}

CudaStream::~CudaStream() {
  hurry();
  timeline_->wait_until_empty();
  close_timeline(*timeline_);
  const CudaCurrent current(gpu_);
  attachment_.reset();
  graphs_.reset();
  if (handle_ != nullptr) static_cast<void>(cudaStreamDestroy(handle_));
  static_cast<void>(cudaGetLastError());
}

CudaStream* CudaStream::current() noexcept { return t_current; }

void CudaStream::hurry() noexcept { timeline_->hurry(); }

void CudaStream::retire() { CudaCompletion::instance().retire(*timeline_); }

void CudaStream::at_end(UniqueFunction<void()> action) {
  running_->endings.push_back(std::move(action));
}

void CudaStream::reserve_end() { running_->endings.reserve(running_->endings.size() + 1); }

Token CudaStream::issue(const Work& work, std::span<const Token> waits) {
  const CudaCurrent current(gpu_);
  CudaPiece& piece = timeline_->next();
  piece.work = work;
  if (!joins(work.recorded)) flush();
  wait_for(waits, piece);
  if (ends_each_piece_) {
    run_alone(piece);
  } else {
    piece.is_held = capture(work.recorded);
    run(piece);
    if (!piece.is_held) record_event(piece);
  }
  const Token token(id(), ++issued_);
  give_scratch_back(piece, token);
  const bool is_spoilt = piece.is_held && graphs_->is_spoilt_by(work);
  const bool is_held = piece.is_held;
  if (is_held) {
    ++held_;
    last_held_ = &piece;
  }
  if (work.is_held != nullptr) *work.is_held = is_held && !is_spoilt;
  // From here on the piece may finish, unless it is held back, and then this object may be gone.
  timeline_->add();
  if (is_spoilt) flush();
  return token;
}

/// Whether what the work at that place enqueues is captured.
bool CudaStream::capture(RecordedPlace place) noexcept {
  if (!captures_ || place.program == 0) return false;
  last_ = place;
  if (is_capturing()) return true;
  if (gpu_.is_lost()) return false;
  try {
    if (graphs_ == nullptr) graphs_ = CudaGraphs::make(gpu_, timeline_);
    captures_ = graphs_ != nullptr;
    if (!captures_ || !graphs_->open(place)) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  t_capturing = this;
  return true;
}

void* CudaStream::scratch(std::size_t bytes) {
  std::vector<CudaPiece::Scratch>& taken = running_->scratch;
  taken.reserve(taken.size() + 1);
  taken.push_back({gpu_.early_blocks().allocate_for(this, bytes), bytes});
  return taken.back().block;
}

/// What follows in the order of the stream may have it at once.
void CudaStream::give_scratch_back(CudaPiece& piece, Token token) {
  for (const CudaPiece::Scratch& scratch : piece.scratch) {
    try {
      gpu_.early_blocks().add_until_end(piece, scratch.block, scratch.bytes, std::span(&token, 1));
    } catch (const std::bad_alloc&) {
      // Without memory to write that down the block stays where it is.
    }
  }
  piece.scratch.clear();
}

void CudaStream::flush_held() noexcept {
  if (t_capturing != nullptr) t_capturing->flush();
}

void CudaStream::flush() noexcept {
  if (!is_capturing()) return;
  const CudaCurrent current(gpu_);
  const bool goes_on = running_ != nullptr;
  if (!goes_on) last_ = {};
  const std::exception_ptr failure = graphs_->launch(handle_, issued_ + (goes_on ? 1 : 0));
  if (goes_on && running_->failure == nullptr) running_->failure = failure;
  const bool is_open = goes_on && graphs_->open_again();
  if (goes_on) running_->is_held = is_open;
  if (!is_open) t_capturing = nullptr;
  if (std::exchange(held_, 0) == 0) return;
  record_event(*last_held_);
  const std::shared_ptr<CudaTimeline> timeline = timeline_;
  // From here on what was held back may finish, and if nothing goes on this object may be gone.
  timeline->submit(failure);
}

void CudaStream::run(CudaPiece& piece) {
  const base::ScopedValue<CudaStream*> current(t_current, this);
  const base::ScopedValue<CudaPiece*> running(running_, &piece);
  const CudaRange range(piece.work.name, piece.work.sequence);
  piece.work.run(piece.work.argument);
}

void CudaStream::run_alone(CudaPiece& piece) {
  {
    const CudaTurn turn(gpu_, handle_, piece);
    run(piece);
  }
  if (!piece.has_ended) record_event(piece);
}

bool CudaStream::has_seen(Token token) const {
  if (token.stream() == id()) return true;
  return token.stream() < seen_.size() && seen_[token.stream()] >= token.sequence();
}

void CudaStream::wait_for(std::span<const Token> waits, CudaPiece& piece) {
  // What is not in piece.waits must not count as seen, so there is memory for all of it before.
  piece.waits.reserve(piece.waits.size() + waits.size());
  for (const Token token : waits) {
    if (token.stream() >= seen_.size()) seen_.resize(std::size_t{token.stream()} + 1);
  }
  for (const Token token : waits) {
    if (has_seen(token) || is_reached(token)) continue;
    const std::shared_ptr<CudaTimeline> other = find_timeline(token.stream());
    if (other != nullptr && other->reached() < token.sequence()) {
      piece.waits.push_back(token);
      flush();  // what is captured stands before the wait
      delay_behind(*other, token.sequence());
    }
    seen_[token.stream()] = token.sequence();
  }
}

void CudaStream::delay_behind(CudaTimeline& other, std::uint64_t sequence) {
  other.wait_until_submitted(sequence);  // by another thread: this one holds nothing back
  if (gpu_.is_lost()) return;
  const cudaError_t result = other.delay(handle_, sequence);
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  gpu_.lose(result, "cudaStreamWaitEvent");
}

/// What cannot be recorded cannot be waited for: the GPU is of no use then.
void CudaStream::record_event(CudaPiece& piece) noexcept {
  if (gpu_.is_lost()) return;
  const char* call = "cudaEventCreateWithFlags";
  cudaError_t result = cudaSuccess;
  if (piece.own_event == nullptr) {
    result = cudaEventCreateWithFlags(&piece.own_event, cudaEventDisableTiming);
  }
  if (result == cudaSuccess) {
    call = "cudaEventRecord";
    result = cudaEventRecord(piece.own_event, handle_);
  }
  if (result == cudaSuccess) {
    piece.event = piece.own_event;
    return;
  }
  static_cast<void>(cudaGetLastError());
  gpu_.lose(result, call);
}

}  // namespace heddle::device
