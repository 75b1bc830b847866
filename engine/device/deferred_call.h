#pragma once

#include <utility>

namespace heddle::device {

/// What may have to wait for what others do, as work that is issued may for memory, and so is left
/// until the thread that came to it has nothing else in hand.
struct DeferredCall {
  void (*call)(void* argument) = nullptr;
  void* argument = nullptr;
  DeferredCall* next = nullptr;  ///< of the list that it is in
};

/// Calls in the order in which they were added, which stay where they are. Thread safety: none.
class DeferredCalls {
 public:
  bool empty() const { return head_ == nullptr; }
  void add(DeferredCall& call) noexcept {
    call.next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = &call;
    tail_ = &call;
  }
  /// Appends all of `others`, which has none then.
  void add_all(DeferredCalls& others) noexcept {
    while (DeferredCall* const call = others.pop()) add(*call);
  }
  /// The first one, taken out; null if there is none.
  DeferredCall* pop() noexcept {
    return head_ == nullptr ? nullptr : std::exchange(head_, head_->next);
  }

 private:
  DeferredCall* head_ = nullptr;
  DeferredCall* tail_ = nullptr;  ///< if there is any
};

/// Calls that a thread makes before it sees to other things: each may lead to the next for as long
/// as others push.
inline constexpr int kMostDeferredCalls = 64;

/// Makes so many of them, while `goes_on` says so.
template <class GoesOn>
void make_some(DeferredCalls& calls, GoesOn&& goes_on) {
  for (int made = 0; made < kMostDeferredCalls && goes_on(); ++made) {
    DeferredCall* const one = calls.pop();
    if (one == nullptr) return;
    one->call(one->argument);
  }
}

/// Where the calling thread has to leave what may wait, as it is in a Deferral; null: it may wait
/// itself. What is added stays until it is called, which it never is if the process ends before.
DeferredCalls* deferred_calls() noexcept;

/// Leaves them to another thread. The calling one is going to block, or has made enough calls.
void leave_deferred_calls() noexcept;

/// As long as it lives the calling thread defers. At the end of the outermost one it makes the
/// calls, and those that they defer, but leaves the rest if these become many. What one of them
/// does is to be short, as those behind it wait for that, unless it blocks in a HostWait.
class Deferral {
 public:
  Deferral() noexcept;
  ~Deferral();
  Deferral(const Deferral&) = delete;
  Deferral& operator=(const Deferral&) = delete;

 private:
  DeferredCalls calls_;
};

}  // namespace heddle::device
