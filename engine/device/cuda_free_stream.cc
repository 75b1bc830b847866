#include "engine/device/cuda_free_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/scoped_value.h"
#include "engine/device/cuda_early_blocks.h"

namespace heddle::device {
namespace {
thread_local CudaFreeStream* t_current = nullptr;
}  // namespace

CudaFreeStream::CudaFreeStream(CudaGpu& gpu)
    : timeline_(open_timeline(gpu)), issued_(timeline_->reached()) {}

CudaFreeStream::~CudaFreeStream() {
  timeline_->hurry();
  timeline_->wait_until_empty();
  close_timeline(*timeline_);
}

CudaFreeStream* CudaFreeStream::current() noexcept { return t_current; }

void CudaFreeStream::hurry() noexcept { timeline_->hurry(); }

Token CudaFreeStream::issue(const Work& work, std::span<const Token> waits) {
  CudaPiece& piece = timeline_->next();
  piece.work = work;
  piece.has_ended = true;
  piece.endings.reserve(1);
  std::remove_copy_if(waits.begin(), waits.end(), std::back_inserter(piece.waits), is_reached);
  const bool is_done = piece.waits.empty();
  {
    // Nests: work may destroy what pushes work.
    const base::ScopedValue<CudaFreeStream*> current(t_current, this);
    const base::ScopedValue<CudaPiece*> running(running_, &piece);
    work.run(work.argument);
  }
  if (is_done) {
    work.finished(work.argument);
    return Token{};
  }
  const Token token(id(), ++issued_);
  timeline_->add();  // from here on the piece may finish, and then this object may be gone
  return token;
}

void CudaFreeStream::give_back(CudaGpu& gpu, void* block, std::size_t bytes) noexcept {
  gpu.early_blocks().add_until_end(*running_, block, bytes, running_->waits);
}

}  // namespace heddle::device
