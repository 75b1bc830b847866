#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "heddle/device.h"
#include "heddle/memory.h"
#include "heddle/trace.h"

namespace heddle::device {

/// A point in the order of one stream: reached once the stream's first `sequence` pieces of work
/// are done. 8 bytes; Token{} is reached from the start.
class Token {
 public:
  constexpr Token() = default;
  constexpr Token(std::uint16_t stream, std::uint64_t sequence)
      : bits_(static_cast<std::uint64_t>(stream) << 48U | sequence) {}
  constexpr std::uint16_t stream() const { return static_cast<std::uint16_t>(bits_ >> 48U); }
  constexpr std::uint64_t sequence() const { return bits_ & ((std::uint64_t{1} << 48U) - 1); }
  friend constexpr bool operator==(Token, Token) = default;

 private:
  std::uint64_t bits_ = 0;
};

/// Where work stands in a recorded program, if what it enqueues may be captured.
struct RecordedPlace {
  std::uint64_t program = 0;  ///< 0: it may not
  std::uint32_t piece = 0;    ///< of the program: what the device should get together
  std::uint32_t index = 0;

  /// Whether the work at this place may go to the device with that at `before`, the last one.
  constexpr bool continues(RecordedPlace before) const {
    return program != 0 && program == before.program && piece == before.piece &&
           index > before.index;
  }
  friend constexpr bool operator==(RecordedPlace, RecordedPlace) = default;
};

/// Something to do on a stream. Plain functions and a pointer, so that giving work to a stream
/// allocates nothing.
struct Work {
  /// Must not throw. A stream whose work is done on the host (sim) calls it in the stream's turn; a
  /// stream whose work is done elsewhere (cuda) calls it in issue(), to enqueue what it does.
  void (*run)(void* argument) = nullptr;
  /// After all that run did or enqueued is done; may destroy what argument points to.
  void (*finished)(void* argument) = nullptr;
  void* argument = nullptr;
  int priority = 0;            ///< only matters where streams share threads
  std::uint64_t sequence = 0;  ///< the operation's; breaks ties of priority
  bool brief = false;          ///< short, and blocks on nothing but modelled links
  /// Called before finished, by the same thread, if the device fails to do what run enqueued.
  void (*failed)(void* argument, std::exception_ptr error) = nullptr;
  std::string_view name = {};  ///< the operation's, for profilers; valid until run has returned
  bool is_async = false;       ///< it may also do something elsewhere than in the stream's order
  bool is_awaited = false;     ///< its end should be noticed soon, as for Stream::hurry()
  RecordedPlace recorded = {};
  /// Where issue() says whether the work is held back; if it is not, it may end at any time.
  bool* is_held = nullptr;
};

/// Threads that a device may borrow for work that computes (simulated GPUs do).
class Executor {
 public:
  virtual ~Executor() = default;
  /// One more piece of work may be queued at a time from now on. Throws std::bad_alloc.
  virtual void reserve() {}
  /// Queues `work`: run, then finished, on a thread of the executor. Never blocks on other work.
  virtual void execute(const Work& work) noexcept = 0;
};

/// An in-order queue of one device. Thread safety: calls are serialized by the caller, who may be
/// in a `finished` of this or another stream.
class Stream {
 public:
  /// `finished` of everything issued must have been called; blocks until it has returned.
  virtual ~Stream() = default;
  /// Unique in the process while the stream lives. An id is used again, but the tokens of a
  /// stream that is gone stay reached.
  virtual std::uint16_t id() const = 0;
  /// Queues `work` behind everything issued before and behind `waits`, without blocking on any
  /// other work, and returns the point at which it is done. `finished` of a piece of work that
  /// waits for this point is called after `finished` of this one has returned. May call
  /// Executor::execute, or run of `work` itself, before it returns. Throws std::bad_alloc, with
  /// nothing queued.
  virtual Token issue(const Work& work, std::span<const Token> waits) = 0;

  // Recorded work may be held back, to go to the device together with what continues it: until
  // other work is issued, or somebody needs what it does, or flush(). A thread that holds some back
  // gives it away before it waits for others; so issue() may have to wait for another
  // thread, but only for what that one is at on a stream.
  /// Whether issue() would hold work at that place back together with what it holds back already.
  virtual bool joins(RecordedPlace /*place*/) const { return false; }
  /// Gives the device what is held back. Called by the thread that has issued it.
  virtual void flush() noexcept {}

  // Where nothing tells the host that a device is done with work, somebody has to ask. Both may be
  // called from any thread.
  /// Somebody on the host waits for work that was issued: until all that has been has ended, it is
  /// noticed soon. Without that it may take some milliseconds more. Blocks on nothing.
  virtual void hurry() noexcept {}
  /// Asks, on the calling thread, and calls `finished` of what is done, unless another thread is at
  /// that. What a `finished` defers follows, which may wait (see DeferredCall).
  virtual void retire() {}
};

/// What one logical device can do. Thread safety: every member may be called from any thread.
class Backend {
 public:
  virtual ~Backend() = default;

  /// For people: "CPU", "simulated GPU 0 of p3.16xlarge".
  virtual std::string description() const = 0;

  /// True if kernels get host pointers that the CPU's own kernels may use (cpu and sim).
  virtual bool runs_cpu_kernels() const = 0;

  /// True if the host may touch a block at any time (cpu); else only operations may.
  virtual bool host_accessible() const = 0;

  /// 64-byte aligned, uninitialized; never null, also for 0 bytes. Throws OutOfMemory.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* block, std::size_t bytes) noexcept = 0;
  /// True if a block may be given back as soon as all work on it is issued, by deallocate() within
  /// work of a stream of make_free_stream(), issued behind the tokens of that work: the block is
  /// used again behind them only. Else all work on a block must be done before it is given back.
  virtual bool frees_early() const { return false; }
  /// So many bytes more, or fewer, will be given back by operations that are pushed.
  virtual void expect(std::ptrdiff_t bytes) noexcept = 0;
  virtual MemoryStatistics memory() const = 0;
  /// Gives back what is cached (see trim_memory()).
  virtual void trim() noexcept = 0;
  /// Bytes that may be allocated beside what is; of a device without a limit, all there are.
  virtual std::size_t room() const { return std::numeric_limits<std::size_t>::max(); }

  /// True if kernels of this device may read the blocks of `other` where they lie, no slower than
  /// a copy would.
  virtual bool reads(Device other) const = 0;

  /// Called when an operation first asks for the address of a block, and when that operation has
  /// ended. Between the two the block may be touched. Calls nest over operations.
  virtual void open(void* block, std::size_t bytes) = 0;
  virtual void close(void* block, std::size_t bytes) noexcept = 0;

  /// Moves bytes between two devices of which at least one is this backend's; both blocks are open.
  /// Called from within an operation. When it returns, the bytes are there (cpu, sim) or stand in
  /// the order of the operation's stream (cuda): what comes later in the operation on that stream,
  /// and whoever waits for the operation, finds them. The blocks must stay until it has ended.
  virtual void copy(void* to, Device to_device, const void* from, Device from_device,
                    std::size_t bytes) = 0;

  /// A new stream of this device for `lane`, or null where operations run on worker threads
  /// (cpu). `executor` outlives the stream.
  virtual std::unique_ptr<Stream> make_stream(Lane lane, Executor& executor) = 0;
  /// A stream for giving blocks back, whose work runs at once, whatever it waits for; null unless
  /// frees_early().
  virtual std::unique_ptr<Stream> make_free_stream() { return nullptr; }
};

/// The backend of a device. References stay valid for the life of the process, its exit included.
Backend& backend_of(Device device);

}  // namespace heddle::device
