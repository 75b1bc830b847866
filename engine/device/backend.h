#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "heddle/device.h"
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

/// Something to do on a stream. Plain functions and a pointer, so that giving work to a stream
/// allocates nothing.
struct Work {
  void (*run)(void* argument) = nullptr;       ///< in the stream's turn; must not throw
  void (*finished)(void* argument) = nullptr;  ///< after run; may destroy what argument points to
  void* argument = nullptr;
  int priority = 0;            ///< only matters where streams share threads
  std::uint64_t sequence = 0;  ///< the operation's; breaks ties of priority
  bool brief = false;          ///< short, and blocks on nothing but modelled links
};

/// Threads that a device may borrow for work that computes (simulated GPUs do).
class Executor {
 public:
  virtual ~Executor() = default;
  /// Queues `work`: run, then finished, on a thread of the executor. Never blocks on other work.
  virtual void execute(const Work& work) = 0;
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
  /// Queues `work` behind everything issued before and behind `waits`, without blocking, and
  /// returns the point at which it is done. `finished` is called before that point counts as
  /// reached, so a piece of work that waits for it starts after `finished` has returned. May call
  /// Executor::execute before it returns.
  virtual Token issue(const Work& work, std::span<const Token> waits) = 0;
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

  /// True if kernels of this device may read the blocks of `other` where they lie, no slower than
  /// a copy would.
  virtual bool reads(Device other) const = 0;

  /// Called when an operation first asks for the address of a block, and when that operation has
  /// ended. Between the two the block may be touched. Calls nest over operations.
  virtual void open(void* block, std::size_t bytes) = 0;
  virtual void close(void* block, std::size_t bytes) noexcept = 0;

  /// Moves bytes between two devices of which at least one is this backend's; both blocks are open.
  /// Called from within the work of a stream (or on the CPU); returns when the bytes are there.
  virtual void copy(void* to, Device to_device, const void* from, Device from_device,
                    std::size_t bytes) = 0;

  /// A new stream of this device for `lane`, or null where operations run on worker threads
  /// (cpu). `executor` outlives the stream.
  virtual std::unique_ptr<Stream> make_stream(Lane lane, Executor& executor) = 0;
};

/// The backend of a device. References stay valid for the life of the process, its exit included.
Backend& backend_of(Device device);

}  // namespace heddle::device
