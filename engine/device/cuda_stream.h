#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

#include "heddle/trace.h"
#include "heddle/unique_function.h"

#include "engine/device/backend.h"
#include "engine/device/cuda_gpu.h"
#include "engine/device/cuda_graphs.h"
#include "engine/device/cuda_timeline.h"

namespace heddle::device {

/// A stream of a GPU. issue() makes the stream wait for the tokens that it has not waited for yet,
/// runs the work, which enqueues, on the calling thread, and records an event behind it. `finished`
/// is called by who leads in CudaCompletion, or calls retire(). With RuntimeOptions::debug_sync
/// issue() also has the GPU end the work, before anybody enqueues more there.
///
/// Recorded work that may be captured is: what continues each other becomes one graph (CudaGraphs),
/// which the GPU gets at once, with one event. Until then it is held back. A thread that holds some
/// back gives it to the GPU before it waits, be it for what another thread holds back.
///
/// Thread safety: see Stream; the rest belongs to the thread that is in issue().
///
/// Invariants:
/// - Whatever the stream runs from now on stands behind the first seen_[i] pieces of stream i.
/// - What a thread holds back, or captures, is of one stream: work issues none to others, and who
///   issues for a lane flushes before it goes on to the next.
class CudaStream final : public Stream {
 public:
  /// On a lost GPU it is made all the same, and its work fails. Throws DeviceError if there is no
  /// stream to be had.
  CudaStream(CudaGpu& gpu, Lane lane);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  std::uint16_t id() const override { return timeline_->id(); }
  Token issue(const Work& work, std::span<const Token> waits) override;
  bool joins(RecordedPlace place) const override {
    return is_capturing() && place.continues(last_);
  }
  void flush() noexcept override;
  void hurry() noexcept override;
  void retire() override;

  /// The stream whose work the calling thread runs at the moment; null outside of issue().
  static CudaStream* current() noexcept;
  /// Gives the GPU what the calling thread holds back.
  static void flush_held() noexcept;

  CudaGpu& gpu() const { return gpu_; }
  /// Within the work: what it enqueues on.
  cudaStream_t handle() const { return is_capturing() ? graphs_->stream() : handle_; }

  /// Within the work: whether all that it does is in the stream's order.
  bool keeps_order() const { return !running_->work.is_async; }
  /// Whether what the stream runs from now on stands behind the token.
  bool has_seen(Token token) const;
  /// Within the work: has the stream wait for the tokens that it has not seen.
  void wait_for(std::span<const Token> waits) { wait_for(waits, *running_); }

  /// Within the work: has `action` called when the GPU is done with the work, before `finished` and
  /// by the same thread. What it throws fails the work.
  void at_end(UniqueFunction<void()> action);
  /// The next at_end() needs no memory.
  void reserve_end();

  /// Within the work, which keeps the order: a block of the GPU for what it enqueues. Throws
  /// OutOfMemory.
  void* scratch(std::size_t bytes);

  /// A place for what belongs to one stream: a library's handle. Destroyed before the stream.
  std::shared_ptr<void>& attachment() { return attachment_; }

 private:
  void wait_for(std::span<const Token> waits, CudaPiece& piece);
  void delay_behind(CudaTimeline& other, std::uint64_t sequence);
  bool is_capturing() const { return graphs_ != nullptr && graphs_->is_open(); }
  bool capture(RecordedPlace place) noexcept;
  void run(CudaPiece& piece);
  void run_alone(CudaPiece& piece);
  void record_event(CudaPiece& piece) noexcept;
  void give_scratch_back(CudaPiece& piece, Token token);

  CudaGpu& gpu_;
  const bool ends_each_piece_;
  bool captures_;
  cudaStream_t handle_ = nullptr;  // null on a GPU that was lost before
  std::shared_ptr<CudaTimeline> timeline_;
  std::uint64_t issued_;             // sequence of the last token
  std::vector<std::uint64_t> seen_;  // by stream id
  CudaPiece* running_ = nullptr;     // the piece that issue() is at
  std::shared_ptr<void> attachment_;
  std::unique_ptr<CudaGraphs> graphs_;  // null until something is captured
  RecordedPlace last_;                  // of what is captured
  std::uint64_t held_ = 0;              // pieces
  CudaPiece* last_held_ = nullptr;      // if there are any
};

}  // namespace heddle::device
