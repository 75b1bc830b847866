#include "engine/device/cuda_turn.h"

#include <exception>
#include <string>

#include "engine/device/cuda_stream.h"
#include "engine/device/cuda_synchronize.h"
#include "engine/device/deferred_call.h"
#include "engine/device/host_wait.h"

namespace heddle::device {
namespace {
thread_local CudaTurn* t_current = nullptr;
}  // namespace

CudaTurn::CudaTurn(CudaGpu& gpu, cudaStream_t stream, CudaPiece& piece)
    : gpu_(gpu), stream_(stream), piece_(piece), lock_(gpu.turn(), std::defer_lock) {
  enter();
  t_current = this;
}

CudaTurn::~CudaTurn() {
  piece_.has_ended = leave();
  t_current = nullptr;
}

void CudaTurn::enter() {
  lock_.lock();
  was_usable_ = !gpu_.is_lost();
}

CudaTurn* CudaTurn::current() noexcept { return t_current; }

void CudaTurn::begin_wait() noexcept {
  if (waits_++ == 0) leave();
}

void CudaTurn::end_wait() {
  if (--waits_ == 0) enter();
}

bool CudaTurn::leave() noexcept {
  const bool done = was_usable_ && synchronize();
  lock_.unlock();
  return done;
}

bool CudaTurn::synchronize() noexcept {
  const cudaError_t result = cuda_synchronize(stream_);
  if (result == cudaSuccess) return true;
  try {
    const std::string culprit = "operation #" + std::to_string(piece_.work.sequence);
    if (CudaGpu::is_sticky(result)) gpu_.lose(result, culprit.c_str());
    gpu_.check(result, "this operation");
  } catch (...) {
    if (piece_.failure == nullptr) piece_.failure = std::current_exception();
  }
  return false;
}

void begin_host_wait() noexcept {
  CudaStream::flush_held();  // who has what the thread leaves may need it
  leave_deferred_calls();
  if (CudaTurn* const turn = CudaTurn::current()) turn->begin_wait();
}

void end_host_wait() noexcept {
  if (CudaTurn* const turn = CudaTurn::current()) turn->end_wait();
}

}  // namespace heddle::device
