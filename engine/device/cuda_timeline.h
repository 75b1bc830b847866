#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "heddle/unique_function.h"

#include "engine/base/ring.h"
#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/device/cuda_gpu.h"

namespace heddle::device {

/// A piece of work that stands in the order of a stream. When it has left, it is used for another,
/// with the memory and the event that it has.
struct CudaPiece {
  struct Scratch {
    void* block;
    std::size_t bytes;
  };

  Work work;
  cudaEvent_t event = nullptr;      ///< recorded behind it; null if it has ended, or on a lost GPU
  cudaEvent_t own_event = nullptr;  ///< what `event` may be; null until it is first asked for
  bool has_ended = false;           ///< known when it was issued
  bool is_held = false;             ///< the GPU gets it with later ones
  /// Sequence of the piece whose event tells of this one: its own, or the last that the GPU got
  /// together with it.
  std::uint64_t told_by = 0;
  std::vector<Token> waits;  ///< of other streams, that the stream waits for with this piece
  /// What is left to do on the host when the GPU is done with it. What one throws fails the piece.
  std::vector<UniqueFunction<void()>> endings;
  std::vector<Scratch> scratch;  ///< until it is issued
  std::exception_ptr failure;

  /// As new, but for what is used again.
  void clear() noexcept;
};

/// What one stream has issued and not finished; what a token of it stands for. Outlives the stream
/// for as long as somebody looks.
///
/// Thread safety: next(), add(), submit() and wait_until_empty() are the stream's, one call at a
/// time; so are finish_some() and stop_watching() of who asks (see CudaCompletion); the rest may be
/// called from any thread. The mutex is held for queue operations, and while another stream is told
/// to wait or an event is asked.
///
/// Invariants (of the state under the mutex):
/// - pieces_ has the pieces with the sequences reached_ + 1 … issued, in order. Those above
///   submitted_ are held back: the GPU does not have all of them. Of the others told_by is set.
/// - A piece leaves when its `finished` has returned, which is called in order, after its event is
///   reached and the pieces of other streams that it waited for have left. So `finished` is called
///   in an order that agrees with all waits.
/// - Every piece of all_ is next_, in pieces_, which has room for all, or in spare_. So its event
///   is not recorded for other work before it has left: nobody finds it recorded again.
class CudaTimeline : public std::enable_shared_from_this<CudaTimeline> {
 public:
  /// Goes on behind `reached`, the last sequence that the id has had, and counts there.
  CudaTimeline(CudaGpu& gpu, std::uint16_t id, base::Atomic<std::uint64_t>& reached)
      : gpu_(gpu),
        id_(id),
        reached_(reached),
        issued_(reached.load()),
        submitted_(reached.load()),
        done_(reached.load()) {}
  ~CudaTimeline();
  CudaTimeline(const CudaTimeline&) = delete;
  CudaTimeline& operator=(const CudaTimeline&) = delete;

  std::uint16_t id() const { return id_; }
  CudaGpu& gpu() const { return gpu_; }
  /// Every piece up to this sequence has left.
  std::uint64_t reached() const { return reached_.load(std::memory_order_acquire); }

  /// The next piece, for who issues it to fill. Throws std::bad_alloc.
  CudaPiece& next();
  /// Appends next(). Unless it is held back it may leave at once.
  void add();
  /// The GPU has got the pieces that were held back, and the event of the last is recorded. With a
  /// failure none of them has done what it should.
  void submit(const std::exception_ptr& failure);
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

  /// Somebody waits for what is in it. Takes no lock under which anything blocks.
  void hurry() noexcept;
  /// Whether somebody waits for a piece that has not left.
  bool is_urgent() const { return urgent_.load() > reached(); }

  /// Asks CUDA, and finishes pieces at the front that are done. True if there was one.
  bool finish_some();
  /// True, and the timeline counts as not watched, if it is empty.
  bool stop_watching();

 private:
  CudaPiece& piece(std::uint64_t sequence);
  void make_urgent(std::uint64_t sequence) noexcept;
  void ask();
  bool ask_for(std::uint64_t sequence);
  bool finish_done();
  void finish(CudaPiece& piece);

  CudaGpu& gpu_;
  const std::uint16_t id_;
  base::Atomic<std::uint64_t>& reached_;   // written under the mutex
  base::Atomic<std::uint64_t> issued_;     // written under the mutex
  base::Atomic<std::uint64_t> urgent_{0};  // somebody waits for the pieces up to this one
  CudaPiece* next_ = nullptr;              // the stream's; null: none is at hand

  base::Mutex mutex_;
  std::vector<std::unique_ptr<CudaPiece>> all_;
  std::vector<CudaPiece*> spare_;
  base::Ring<CudaPiece*> pieces_;
  std::uint64_t submitted_;
  bool watched_ = false;
  std::uint64_t done_;               ///< of who asks: the GPU has done the pieces up to this one
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
