#pragma once

#include <functional>

#include "heddle/error.h"

namespace heddle::support {

/// Codes with which a test's child of fork() leaves.
inline constexpr int kRight = 7;
inline constexpr int kWrong = 8;

/// True if `call` is refused because this process was forked.
inline bool throws_forked_child(const std::function<void()>& call) {
  try {
    call();
  } catch (const ForkedChild&) {
    return true;
  } catch (...) {
  }
  return false;
}

}  // namespace heddle::support
