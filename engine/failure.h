#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/error.h"

#include "engine/base/sync.h"

namespace heddle::detail {

struct Failure;

/// Shared by every variable that the same root poisoned; null: not poisoned. Half the size of a
/// std::shared_ptr: each operation has one, and hardly any uses it.
class FailurePtr {
 public:
  FailurePtr() noexcept = default;
  FailurePtr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  /// Throws std::bad_alloc.
  static FailurePtr make(Failure failure);
  /// To one that lives for ever.
  static FailurePtr to_last_resort(const Failure& failure) noexcept;
  FailurePtr(const FailurePtr& other) noexcept : failure_(other.failure_) { retain(); }
  FailurePtr(FailurePtr&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  FailurePtr& operator=(FailurePtr other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~FailurePtr() {
    if (failure_ != nullptr) release();
  }

  const Failure* get() const noexcept { return failure_; }
  const Failure& operator*() const noexcept { return *failure_; }
  const Failure* operator->() const noexcept { return failure_; }
  void reset() noexcept { *this = nullptr; }
  /// As reset(), if others refer to it, too; false, with nothing done, if none does.
  bool reset_unless_last() noexcept;
  friend bool operator==(const FailurePtr&, const FailurePtr&) = default;
  friend bool operator==(const FailurePtr& failure, std::nullptr_t) noexcept {
    return failure.failure_ == nullptr;
  }

 private:
  void retain() const noexcept;
  void release() const noexcept;

  const Failure* failure_ = nullptr;
};

/// Why a variable is poisoned: an operation threw, or was cancelled.
struct Failure {
  std::uint64_t sequence;        ///< of the operation at the root; 0: not known, or there was none
  std::optional<OpError> error;  ///< empty: cancelled
  std::string name = {};         ///< of a cancelled operation, if it has one
  bool by_group = false;         ///< its group was cancelled; else shutdown() did it
  bool is_last_resort = false;   ///< it lives for ever, nobody counts who has it

  // Of DroppedFailures.
  mutable FailurePtr itself = nullptr;
  mutable const Failure* next_dropped = nullptr;

  bool is_from_shutdown() const { return !error && !by_group; }
};

/// Failures that nobody has a use for any more, kept until somebody destroys them without a lock,
/// as the Disposal of a ThreadedEngine: an exception may do anything then. Needs no memory.
///
/// Thread safety: none, the engine's lock guards it.
class DroppedFailures {
 public:
  DroppedFailures() = default;
  ~DroppedFailures() {
    while (take() != nullptr) {
    }
  }
  DroppedFailures(const DroppedFailures&) = delete;
  DroppedFailures& operator=(const DroppedFailures&) = delete;
  /// Both get what the other one has.
  void swap(DroppedFailures& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(added_, other.added_);
  }

  bool empty() const { return first_ == nullptr; }
  /// How many there have been so far.
  std::uint64_t added() const { return added_; }
  /// Unless somebody else has it, too, or there is no exception in it.
  void add(FailurePtr failure) noexcept {
    if (failure == nullptr || failure->is_last_resort || !failure->error) return;
    if (failure.reset_unless_last()) return;
    const Failure& dropped = *failure;
    dropped.next_dropped = nullptr;
    (first_ != nullptr ? last_->next_dropped : first_) = &dropped;
    last_ = &dropped;
    dropped.itself = std::move(failure);
    ++added_;
  }
  /// The one that has been there for longest, and is not any more; null if there is none.
  FailurePtr take() noexcept {
    const Failure* const taken = first_;
    if (taken == nullptr) return nullptr;
    first_ = taken->next_dropped;
    return std::exchange(taken->itself, nullptr);
  }

 private:
  const Failure* first_ = nullptr;
  const Failure* last_ = nullptr;  ///< if there is a first one
  std::uint64_t added_ = 0;
};

// How operations come to fail. Where there is no memory for a Failure these give one that was made
// beforehand, with number 0: an operation must end whatever happens.

/// Makes those. Throws std::bad_alloc.
void make_last_resorts();
/// Of an operation that threw `error`.
FailurePtr failed(std::uint64_t sequence, std::string_view name, Device device,
                  std::exception_ptr error) noexcept;
/// Of an operation whose group was cancelled before it started.
FailurePtr cancelled_by_group(std::uint64_t sequence, std::string_view name) noexcept;
/// Of an operation that shutdown() cancelled.
FailurePtr cancelled_by_shutdown(std::uint64_t sequence, std::string_view name) noexcept;

/// An Error with this text, or std::bad_alloc.
std::exception_ptr error_or_no_memory(const char* text) noexcept;

/// Throws the OpError, or for a cancelled operation Cancelled or EngineStopped, from this `call`.
[[noreturn]] void raise(const Failure& failure, std::string_view call);

/// The one with the lower sequence; null counts as none.
const FailurePtr& earlier(const FailurePtr& a, const FailurePtr& b);

/// The failures that nobody was told about yet.
///
/// Thread safety: every member may be called from any thread.
class ErrorLog {
 public:
  static constexpr std::size_t kLimit = 1024;

  /// Makes the last resorts. Throws std::bad_alloc.
  ErrorLog() { make_last_resorts(); }

  /// Keeps `error` if fewer than kLimit are kept and there is memory for it, else counts it.
  void add(FailurePtr error) noexcept;
  /// `error` was thrown by a wait.
  void mark_reported(const Failure& error);
  /// Throws what is kept, as an AggregateError, and forgets it; or std::bad_alloc, and keeps it.
  /// Returns if there is nothing.
  void raise_all();
  /// Forgets what is kept, which may do anything when it is destroyed. False if there is nothing.
  bool forget() noexcept;

 private:
  base::Mutex mutex_;
  std::vector<FailurePtr> kept_;
  std::size_t omitted_ = 0;
};

}  // namespace heddle::detail
