#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/device/memory_pool.h"

namespace heddle::device {

class CudaStream;
struct CudaPiece;

/// Blocks of one GPU's memory that came back before the work on them was done. What stands behind
/// that work on the device may use them again: so operations that are issued far ahead need no more
/// memory than those that run, and the host waits for nobody. When the work is done they go back to
/// the pool.
///
/// Thread safety: every member may be called from any thread. The mutex is taken before those of
/// timelines, and held while a stream is told to wait; never while the pool works.
///
/// Invariants (of the state under the mutex):
/// - A block that is here is live in the pool and used by nobody but the work behind its tokens.
/// - It leaves once: taken, or settled. Tickets are never used again, so to settle a block that was
///   taken, and perhaps came back since, does nothing.
class CudaEarlyBlocks {
 public:
  using Ticket = std::uint64_t;

  explicit CudaEarlyBlocks(MemoryPool& pool) : pool_(pool) {}
  CudaEarlyBlocks(const CudaEarlyBlocks&) = delete;
  CudaEarlyBlocks& operator=(const CudaEarlyBlocks&) = delete;

  /// As MemoryPool::allocate(), and what the GPU has done with counts as free.
  void* allocate(std::size_t bytes);

  /// A block for the work of `stream` that the calling thread is in; as allocate() if that is null.
  /// Memory that was touched last is best; the pool's needs no wait; and to wait on the device is
  /// better than on the host.
  void* allocate_for(CudaStream* stream, std::size_t bytes);

  /// The block may be used again by what stands behind `tokens`. `bytes` as in MemoryPool. Throws
  /// std::bad_alloc, with nothing done.
  Ticket add(void* block, std::size_t bytes, std::span<const Token> tokens);
  /// As add(), until the GPU is done with `piece`, which waits for the tokens or has the last of
  /// them: then the block is settled. Throws std::bad_alloc, with nothing done, unless the endings
  /// of the piece have room for one more.
  void add_until_end(CudaPiece& piece, void* block, std::size_t bytes,
                     std::span<const Token> tokens);
  /// The tokens of the block are reached: gives it to the pool, if it is still here.
  void settle(Ticket ticket, std::size_t bytes) noexcept;

  /// A block for work of `stream`, which stands behind all of its tokens; null if there is none.
  void* take(std::size_t bytes, const CudaStream& stream);
  /// Within the work of `stream`: the block that came back first, for which the stream waits; null
  /// if there is none of that size.
  void* take_and_wait(std::size_t bytes, CudaStream& stream);
  /// Gives the pool those whose tokens the GPU has done, whether or not anybody knows. False if
  /// there is none. Their order does not count, and no other thread is needed.
  bool settle_done();

  /// How many are here, to a block of the pool each.
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Early {
    Ticket ticket;
    void* block;
    std::size_t bytes;
    std::vector<Token> tokens;
  };
  using Blocks = std::vector<Early>;  ///< of one size, in the order in which they came

  Early remove(std::size_t size, Blocks& blocks, Blocks::iterator place);

  MemoryPool& pool_;
  base::Mutex mutex_;
  std::map<std::size_t, Blocks> by_size_;
  Ticket last_ticket_ = 0;
  base::Atomic<std::size_t> bytes_{0};
};

}  // namespace heddle::device
