#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace heddle {

namespace detail {
class RecordedProgram;
}

/// Operations that Engine::record() has captured, to be pushed together as often as wanted.
///
/// A handle, which keeps the captured callables and handles to the variables that they name. These
/// live until the handle is gone and the last run has ended. Destroying it never throws or blocks.
///
/// What the script computed while it was recorded stays as it was: sizes, scalars, the step given
/// to adam_update(). Random numbers are the exception: each run draws new ones, from where the
/// generators stand when it is called.
///
/// Thread safety: several threads may call run() of one recording at a time.
class Recording {
 public:
  /// Refers to nothing: run() is std::invalid_argument.
  Recording() noexcept = default;
  Recording(Recording&& other) noexcept : program_(std::exchange(other.program_, nullptr)) {}
  Recording& operator=(Recording&& other) noexcept;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  /// Pushes all operations, in the order in which they were recorded, with sequence numbers that
  /// follow each other; returns the first, or 0 if there are no operations. What was pushed before
  /// and what is pushed afterwards, runs of this or other recordings too, is ordered with them as
  /// if they had been pushed one by one. In addition no callable is called by two runs at a time.
  ///
  /// Blocks while max_pending operations are pending, and takes places for all operations then,
  /// however many these are; inside an operation it never blocks.
  ///
  /// Throws, with nothing pushed: std::invalid_argument if a variable was deleted or the engine is
  /// gone, EngineStopped after shutdown(), ForkedChild, and Error while the thread records on the
  /// same engine. But random numbers that were reserved for the run stay used.
  std::uint64_t run() const;

  /// Number of operations.
  std::size_t size() const noexcept;

 private:
  friend class Engine;
  explicit Recording(detail::RecordedProgram* program) noexcept : program_(program) {}

  detail::RecordedProgram* program_ = nullptr;
};

}  // namespace heddle
