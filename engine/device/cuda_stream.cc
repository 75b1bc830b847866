#include "engine/device/cuda_stream.h"

#include <utility>

#include "heddle/error.h"

#include "engine/base/scoped_value.h"
#include "engine/device/cuda_completion.h"
#include "engine/device/cuda_ranges.h"
#include "engine/device/cuda_turn.h"
#include "engine/runtime.h"

namespace heddle::device {
namespace {
thread_local CudaStream* t_current = nullptr;
}  // namespace

CudaStream::CudaStream(CudaGpu& gpu, Lane lane)
    : gpu_(gpu), ends_each_piece_(resolved_runtime_options().debug_sync) {
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
  timeline_ = open_timeline(gpu_);
  issued_ = timeline_->reached();
}

CudaStream::~CudaStream() {
  timeline_->wait_until_empty();
  close_timeline(*timeline_);
  const CudaCurrent current(gpu_);
  attachment_.reset();
  if (handle_ != nullptr) static_cast<void>(cudaStreamDestroy(handle_));
  static_cast<void>(cudaGetLastError());
}

CudaStream* CudaStream::current() noexcept { return t_current; }

void CudaStream::at_end(UniqueFunction<void()> action) {
  running_->endings.push_back(std::move(action));
}

Token CudaStream::issue(const Work& work, std::span<const Token> waits) {
  const CudaCurrent current(gpu_);
  CudaPiece piece;
  piece.work = work;
  wait_for(waits, piece);
  if (ends_each_piece_) {
    run_alone(piece);
  } else {
    run(piece);
    record_behind(piece);
  }
  const Token token(id(), ++issued_);
  const std::shared_ptr<CudaTimeline> timeline = timeline_;
  // From here on the piece may finish, and then this object may be gone.
  if (timeline->add(std::move(piece))) CudaCompletion::instance().watch(timeline);
  return token;
}

void CudaStream::run(CudaPiece& piece) {
  // Nests: work may push work, and the engine may issue that to another stream at once.
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
  if (!piece.has_ended) record_behind(piece);
}

bool CudaStream::has_seen(Token token) const {
  if (token.stream() == id()) return true;
  return token.stream() < seen_.size() && seen_[token.stream()] >= token.sequence();
}

void CudaStream::wait_for(std::span<const Token> waits, CudaPiece& piece) {
  for (const Token token : waits) {
    if (token == Token{} || has_seen(token)) continue;
    if (token.stream() >= seen_.size()) seen_.resize(std::size_t{token.stream()} + 1);
    const std::shared_ptr<CudaTimeline> other = find_timeline(token.stream());
    if (other != nullptr && other->reached() < token.sequence()) {
      piece.waits.push_back(token);  // before it counts as seen, as there may be no memory
      delay_behind(*other, token.sequence());
    }
    seen_[token.stream()] = token.sequence();
  }
}

void CudaStream::delay_behind(CudaTimeline& other, std::uint64_t sequence) {
  if (gpu_.is_lost()) return;
  const cudaError_t result = other.delay(handle_, sequence);
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  gpu_.lose(result, "cudaStreamWaitEvent");
}

/// What cannot be recorded cannot be waited for: the GPU is of no use then.
void CudaStream::record_behind(CudaPiece& piece) {
  if (gpu_.is_lost()) return;
  cudaEvent_t event = nullptr;
  const char* call = "cudaEventCreateWithFlags";
  cudaError_t result = timeline_->take_event(event);
  if (result == cudaSuccess) {
    call = "cudaEventRecord";
    result = cudaEventRecord(event, handle_);
  }
  if (result == cudaSuccess) {
    piece.event = event;
    return;
  }
  static_cast<void>(cudaGetLastError());
  gpu_.lose(result, call);
}

}  // namespace heddle::device
