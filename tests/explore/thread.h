#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "tests/explore/scheduler.h"

namespace heddle::explore {

/// Stands in for std::thread: a thread of the scheduler whose program runs.
class Thread {
 public:
  Thread() = default;
  Thread(const std::string& name, std::function<void()> body)
      : number_(Scheduler::current()->start(name, std::move(body))) {}
  ~Thread() {
    if (joinable()) std::terminate();
  }
  Thread(Thread&& other) noexcept : number_(std::exchange(other.number_, kNone)) {}
  Thread& operator=(Thread&& other) noexcept {
    if (joinable()) std::terminate();
    number_ = std::exchange(other.number_, kNone);
    return *this;
  }

  bool joinable() const { return number_ != kNone; }
  /// True while it cannot go on, and once it has ended.
  bool is_blocked() const { return Scheduler::current()->is_blocked(number_); }
  void join() { Scheduler::current()->join(std::exchange(number_, kNone)); }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t number_ = kNone;
};

}  // namespace heddle::explore
