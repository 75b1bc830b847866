#pragma once

#include <cstddef>
#include <functional>

#include <ucontext.h>

namespace heddle::explore {

/// A thread of control that runs until it switches to another one: all of a process's fibers share
/// one thread of the system. What the C++ runtime keeps of exceptions per thread, each keeps for
/// itself.
///
/// Thread safety: none. A fiber stays where it is in memory.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Gives it something to run from the beginning, when it is next switched to; `body` must not
  /// return.
  void reset(std::function<void()> body);

  /// Leaves `from`, which is running, and goes on in `to`. Returns when something switches back.
  static void change(Fiber& from, Fiber& to);

 private:
  /// What __cxa_get_globals() points to.
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static constexpr std::size_t kStack = std::size_t{256} << 10U;

  static void start();

  void* stack_;  ///< with a page below it that must not be touched
  ucontext_t context_{};
  Exceptions exceptions_;
  std::function<void()> body_;
};

}  // namespace heddle::explore
