#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/device/backend.h"
#include "engine/device/cuda_gpu.h"
#include "engine/device/cuda_timeline.h"

namespace heddle::device {

/// Gives blocks back: a stream in name only, as nothing of it reaches the GPU. issue() runs the
/// work, which says that a block may be used again behind the tokens that it is issued with; the
/// work has finished when these are reached.
///
/// Thread safety: see Stream; the rest belongs to the thread that is in issue().
class CudaFreeStream final : public Stream {
 public:
  explicit CudaFreeStream(CudaGpu& gpu);
  ~CudaFreeStream() override;
  CudaFreeStream(const CudaFreeStream&) = delete;
  CudaFreeStream& operator=(const CudaFreeStream&) = delete;

  std::uint16_t id() const override { return timeline_->id(); }
  Token issue(const Work& work, std::span<const Token> waits) override;
  void hurry() noexcept override;

  /// The stream whose work the calling thread runs at the moment; null outside of issue().
  static CudaFreeStream* current() noexcept;

  /// Within the work: false if there is nothing to wait for any more.
  bool gives_back_early() const { return !running_->waits.empty(); }
  /// Within the work, once, if gives_back_early(): the block, of the memory of `gpu`, may be used
  /// again behind what the work is issued behind.
  void give_back(CudaGpu& gpu, void* block, std::size_t bytes) noexcept;

 private:
  std::shared_ptr<CudaTimeline> timeline_;
  std::uint64_t issued_;          // sequence of the last token
  CudaPiece* running_ = nullptr;  // the piece that issue() is at
};

}  // namespace heddle::device
