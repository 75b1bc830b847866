#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "heddle/unique_function.h"

#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/device/cuda_gpu.h"

namespace heddle::device {

/// A piece of work that stands in the order of a stream.
struct CudaPiece {
  struct Scratch {
    void* block;
    std::size_t bytes;
  };

  Work work;
  cudaEvent_t event = nullptr;  ///< recorded behind it; null if it has ended, or on a lost GPU
  bool has_ended = false;       ///< known when it was issued
  bool is_held = false;         ///< the GPU gets it with later ones
  /// Sequence of the piece whose event tells of this one: its own, or the last that the GPU got
  /// together with it.
  std::uint64_t told_by = 0;
  std::vector<Token> waits;  ///< of other streams, that the stream waits for with this piece
  /// What is left to do on the host when the GPU is done with it. What one throws fails the piece.
  std::vector<UniqueFunction<void()>> endings;
  std::vector<Scratch> scratch;  ///< until it is issued
  std::exception_ptr failure;
};

/// What one stream has issued and not finished; what a token of it stands for. Outlives the stream
/// for as long as somebody looks.
///
/// Thread safety: add(), submit(), take_event() and wait_until_empty() are the stream's, one call
/// at a time; finish_some() and stop_watching() the completion thread's; the rest may be called
/// from any thread. The mutex is held for queue operations, and while another stream is told to
/// wait or an event is asked.
///
/// Invariants (of the state under the mutex):
/// - pieces_ has the pieces with the sequences reached_ + 1 … issued, in order. Those above
///   submitted_ are held back: the GPU does not have all of them. Of the others told_by is set.
/// - A piece leaves when its `finished` has returned, which is called for the front piece only,
///   after its event is reached and the pieces of other streams that it waited for have left. So
///   `finished` is called in an order that agrees with all waits.
/// - An event is in spare_events_, or belongs to one piece from before it is recorded until the
///   piece leaves: nobody finds it recorded again for later work.
class CudaTimeline {
 public:
  /// Goes on behind `reached`, the last sequence that the id has had.
  CudaTimeline(CudaGpu& gpu, std::uint16_t id, std::uint64_t reached)
      : gpu_(gpu), id_(id), reached_(reached), submitted_(reached) {}
  ~CudaTimeline();
  CudaTimeline(const CudaTimeline&) = delete;
  CudaTimeline& operator=(const CudaTimeline&) = delete;

  std::uint16_t id() const { return id_; }
  CudaGpu& gpu() const { return gpu_; }
  /// Every piece up to this sequence has left.
  std::uint64_t reached() const { return reached_.load(std::memory_order_acquire); }

  /// An event that nothing waits for.
  cudaError_t take_event(cudaEvent_t& event);
  /// Appends a piece. True if the completion thread does not watch this timeline yet: the caller
  /// must see to that.
  bool add(CudaPiece piece);
  /// The GPU has got the pieces that were held back, and `event` is recorded behind them, or null.
  /// With a failure none of them has done what it should.
  void submit(cudaEvent_t event, const std::exception_ptr& failure);
  /// Whether the GPU has got the piece with that sequence.
  bool is_submitted(std::uint64_t sequence);
  /// Blocks until it has. The caller holds nothing back itself.
  void wait_until_submitted(std::uint64_t sequence);
  /// Lets what follows on `stream` wait for the piece with that sequence, which is submitted.
  cudaError_t delay(cudaStream_t stream, std::uint64_t sequence);
  /// Whether the GPU has done the piece with that sequence, which may not have left yet. False on a
  /// lost GPU, unless it has left.
  bool is_done(std::uint64_t sequence);
  /// Blocks until every piece has left.
  void wait_until_empty();

  /// Finishes pieces at the front that are done. True if there was one.
  bool finish_some();
  /// True, and the timeline counts as not watched, if it is empty.
  bool stop_watching();

 private:
  CudaPiece& piece(std::uint64_t sequence);
  bool front_is_done();
  void finish_front();

  CudaGpu& gpu_;
  const std::uint16_t id_;
  base::Atomic<std::uint64_t> reached_;  // written under the mutex

  base::Mutex mutex_;
  std::deque<CudaPiece> pieces_;
  std::uint64_t submitted_;
  std::vector<cudaEvent_t> spare_events_;
  bool watched_ = false;
  std::uint64_t done_ = 0;  ///< the completion thread's: what this piece's event tells of is done
  base::ConditionVariable changed_;  ///< nothing is left, or held back
};

/// Opens the timeline of an id that no living stream has. Throws DeviceError if all are taken.
std::shared_ptr<CudaTimeline> open_timeline(CudaGpu& gpu);
/// Gives its id back, with every piece gone.
void close_timeline(const CudaTimeline& timeline) noexcept;
/// The timeline of a living stream, or null: a token of any other stream is reached.
std::shared_ptr<CudaTimeline> find_timeline(std::uint16_t id);
/// Whether everything up to the token has left.
bool is_reached(Token token);
/// Whether the GPU has done everything up to the token.
bool is_done(Token token);
/// Whether the GPU has got everything up to the token.
bool is_submitted(Token token);

}  // namespace heddle::device
