#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/error.h"

#include "engine/base/sync.h"

namespace heddle::detail {

struct Failure;

/// Shared by every variable that the same root poisoned; null: not poisoned.
using FailurePtr = std::shared_ptr<const Failure>;

/// Why a variable is poisoned: an operation threw, or was cancelled.
struct Failure {
  std::uint64_t sequence;        ///< of the operation at the root; 0: it was made beforehand
  std::optional<OpError> error;  ///< empty: cancelled
  /// The name of an operation whose group was cancelled; empty: shutdown() cancelled it.
  std::optional<std::string> group_member = {};

  // Of DroppedFailures.
  mutable FailurePtr itself = nullptr;
  mutable const Failure* next_dropped = nullptr;

  bool is_from_shutdown() const { return !error && !group_member; }
};

/// Failures that an engine has no use for any more, kept until it can destroy them without its
/// lock: an exception may do anything when it is destroyed. Needs no memory.
///
/// Thread safety: none, the engine's lock guards it.
class DroppedFailures {
 public:
  DroppedFailures() = default;
  ~DroppedFailures() {
    while (!empty()) take();
  }
  DroppedFailures(const DroppedFailures&) = delete;
  DroppedFailures& operator=(const DroppedFailures&) = delete;

  bool empty() const { return first_ == nullptr; }
  void add(FailurePtr failure) noexcept {
    if (failure == nullptr || failure->sequence == 0 || failure->itself != nullptr) return;
    const Failure& dropped = *failure;
    dropped.next_dropped = std::exchange(first_, &dropped);
    dropped.itself = std::move(failure);
  }
  /// One of them, which is not there any more.
  FailurePtr take() noexcept {
    const Failure& taken = *first_;
    first_ = taken.next_dropped;
    return std::exchange(taken.itself, nullptr);
  }

 private:
  const Failure* first_ = nullptr;
};

// How operations come to fail. Where there is no memory for a Failure these give one that was made
// beforehand, with number 0: an operation must end whatever happens.

/// Of an operation that threw `error`.
FailurePtr failed(std::uint64_t sequence, std::string_view name, Device device,
                  std::exception_ptr error) noexcept;
/// Of an operation whose group was cancelled before it started.
FailurePtr cancelled_by_group(std::uint64_t sequence, std::string_view name) noexcept;
/// Of an operation that shutdown() cancelled.
FailurePtr cancelled_by_shutdown(std::uint64_t sequence) noexcept;

/// An Error with this text, or std::bad_alloc.
std::exception_ptr error_or_no_memory(const char* text) noexcept;

/// Throws the OpError, or for a cancelled operation Cancelled or EngineStopped.
[[noreturn]] void raise(const Failure& failure);

/// The one with the lower sequence; null counts as none.
const FailurePtr& earlier(const FailurePtr& a, const FailurePtr& b);

/// The failures that nobody was told about yet.
///
/// Thread safety: every member may be called from any thread.
class ErrorLog {
 public:
  static constexpr std::size_t kLimit = 1024;

  /// Makes the failures that need no memory later. Throws std::bad_alloc.
  ErrorLog();

  /// Keeps `error` if fewer than kLimit are kept and there is memory for it, else counts it.
  void add(FailurePtr error) noexcept;
  /// `error` was thrown by a wait.
  void mark_reported(const Failure& error);
  /// Throws what is kept, as an AggregateError, and forgets it; or std::bad_alloc, and keeps it.
  /// Returns if there is nothing.
  void raise_all();

 private:
  base::Mutex mutex_;
  std::vector<FailurePtr> kept_;
  std::size_t omitted_ = 0;
};

}  // namespace heddle::detail
