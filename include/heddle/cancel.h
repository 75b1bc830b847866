#pragma once

#include <utility>

namespace heddle {

namespace detail {
struct CancelState;
void retain(CancelState& state) noexcept;
void release(CancelState& state) noexcept;
bool is_cancelled(const CancelState& state) noexcept;
}  // namespace detail

/// Says to which group an operation belongs: PushOptions::cancel.
///
/// A handle; copies name the same group. CancelToken{} names none, is never cancelled, and costs no
/// reference counting.
///
/// Thread safety: that of std::shared_ptr.
class CancelToken {
 public:
  constexpr CancelToken() noexcept = default;
  constexpr CancelToken(const CancelToken& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) detail::retain(*state_);
  }
  constexpr CancelToken(CancelToken&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)) {}
  constexpr CancelToken& operator=(CancelToken other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  constexpr ~CancelToken() {
    if (state_ != nullptr) detail::release(*state_);
  }

  /// True if it names a group.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  friend bool operator==(const CancelToken&, const CancelToken&) = default;

  /// True once the group was cancelled.
  bool cancelled() const noexcept { return state_ != nullptr && detail::is_cancelled(*state_); }

  /// Of the group; null: none. Lives as long as a handle.
  const detail::CancelState* state() const noexcept { return state_; }

 private:
  friend class CancelSource;
  explicit CancelToken(detail::CancelState* state) noexcept : state_(state) {}

  detail::CancelState* state_ = nullptr;
};

/// Cancels a group of operations: those that were or will be pushed with its token, on any engine.
///
/// An operation of a cancelled group that has not started is skipped when its turn comes: what it
/// mutates is poisoned, and waiting for that throws Cancelled, until it is overwritten or cleared
/// as after an error. One that runs sees RunContext::stop_requested(); how it ends is its own
/// affair. One that has ended is left as it is. What an operation pushes belongs to a group only if
/// it says so, and deletions of variables to none.
///
/// A handle; copies stand for the same group, which lives as long as a handle or an operation of
/// it.
///
/// Thread safety: that of std::shared_ptr; cancel() may be called from any thread, and inside
/// operations.
class CancelSource {
 public:
  /// A new group.
  CancelSource();
  CancelSource(const CancelSource&) noexcept = default;
  CancelSource& operator=(const CancelSource&) noexcept = default;
  ~CancelSource() = default;

  const CancelToken& token() const noexcept { return token_; }
  /// For good: nothing undoes it, and a second call does nothing. Never blocks.
  void cancel() noexcept;
  bool cancelled() const noexcept { return token_.cancelled(); }

 private:
  CancelToken token_;
};

}  // namespace heddle
