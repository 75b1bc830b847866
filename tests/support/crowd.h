#pragma once

#include <atomic>

namespace heddle::support {

/// How many are inside at a time. Thread safety: every member, from any thread.
class Crowd {
 public:
  void enter() {
    const int now = ++inside_;
    int most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void leave() { --inside_; }
  int most() const { return most_; }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
};

}  // namespace heddle::support
