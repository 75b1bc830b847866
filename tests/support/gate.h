#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "heddle/engine.h"

#include "engine/base/sync.h"

namespace heddle::support {

/// A door that is opened once and stays open. Thread safety: every member, from any thread.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Blocks until the gate is open.
  void wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }
  bool is_open() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  mutable base::Mutex mutex_;
  mutable base::ConditionVariable changed_;
  bool open_ = false;
};

/// A number that only grows. Thread safety: every member, from any thread.
class Counter {
 public:
  void add(std::size_t count = 1) {
    const std::lock_guard lock(mutex_);
    value_ += count;
    changed_.notify_all();
  }
  /// Blocks until the counter has reached `value`.
  void wait_for(std::size_t value) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, value] { return value_ >= value; });
  }
  std::size_t value() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable base::Mutex mutex_;
  mutable base::ConditionVariable changed_;
  std::size_t value_ = 0;
};

/// What operations saw, in the order in which they said so; the test's thread asserts on it.
/// Thread safety: every member, from any thread.
template <class T>
class Log {
 public:
  void add(T entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  std::vector<T> entries() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }

 private:
  mutable base::Mutex mutex_;
  std::vector<T> entries_;
};

/// True if operations of `engine` run beside the thread that pushes them.
inline bool runs_beside_pusher(Engine& engine) {
  const EngineKind kind = engine.options().kind;
  return kind == EngineKind::kThreaded || kind == EngineKind::kPooled;
}

/// An operation that has started and does not end before release(). Only for engines that run
/// operations beside the pushing thread. Declare it after its engine, so that a failed test
/// releases it.
class HeldOperation {
 public:
  HeldOperation(Engine& engine, VarList reads, VarList mutates, const PushOptions& options = {})
      : state_(std::make_shared<State>()) {
    sequence_ = engine.push(
        [state = state_] {
          state->started.open();
          state->released.wait();
        },
        reads, mutates, options);
  }
  ~HeldOperation() { release(); }
  HeldOperation(const HeldOperation&) = delete;
  HeldOperation& operator=(const HeldOperation&) = delete;

  std::uint64_t sequence() const { return sequence_; }
  /// Blocks until the operation runs.
  void wait_until_started() const { state_->started.wait(); }
  void release() { state_->released.open(); }

 private:
  struct State {
    Gate started;
    Gate released;
  };
  std::shared_ptr<State> state_;
  std::uint64_t sequence_ = 0;
};

}  // namespace heddle::support
