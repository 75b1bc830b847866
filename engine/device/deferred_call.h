#pragma once

#include <utility>

namespace heddle::device {

/// What a `finished` (see Work) leads to and that may have to wait for what others do, as work that
/// is issued may for memory.
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

/// Where the calling thread has to leave what may wait, as it is in a `finished`, or in a call that
/// was deferred and that others may stand behind; null: it may wait itself. What is added stays,
/// and is called when the thread is in neither any more, or by another thread; never if the process
/// ends before.
DeferredCalls* deferred_calls() noexcept;

}  // namespace heddle::device
