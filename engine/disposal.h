#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "engine/base/sync.h"

namespace heddle::detail {

/// A thread that destroys the exceptions which an engine has no use for any more. They may do
/// anything then, as to push to the engine and to wait for what is pending: no other thread of the
/// engine could do that without holding up what they wait for. It starts when there is the first.
/// How many wait for it is not bounded: they are as many as the user's operations have thrown.
///
/// Thread safety: every member may be called from any thread, stop() by one.
///
/// Invariant: who has dropped something, under the engine's lock, asks afterwards; the thread takes
/// that lock after it has cleared is_asked_. So what is not asked for again is seen.
class Disposal {
 public:
  /// `destroy_one`: called by the thread, until it returns false as there is none.
  explicit Disposal(std::function<bool()> destroy_one) : destroy_one_(std::move(destroy_one)) {}
  ~Disposal() { stop(); }
  Disposal(const Disposal&) = delete;
  Disposal& operator=(const Disposal&) = delete;

  /// There is something to destroy. False if there is no thread for it: it has stopped, or could
  /// not be started, which the next call tries again.
  bool ask() noexcept;
  /// The thread destroys no further one.
  void halt();
  /// The same, and waits for the end of what it has begun.
  void stop();

 private:
  void serve();

  const std::function<bool()> destroy_one_;
  base::Atomic<bool> is_asked_{false};  ///< since the thread has looked last

  base::Mutex mutex_;  ///< guards what follows; once it is stopping, thread_ is of who stops it
  base::ConditionVariable changed_;
  bool stopping_ = false;
  base::Thread thread_;
};

}  // namespace heddle::detail
