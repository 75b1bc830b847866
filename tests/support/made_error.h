#pragma once

#include <exception>
#include <stdexcept>

namespace heddle::support {

/// A std::runtime_error with this text, for another thread. Made in a call of its own: one that is
/// made among the arguments of a call shares its text, which libstdc++ counts where ThreadSanitizer
/// does not see it, until that call has returned.
inline std::exception_ptr made_error(const char* text) {
  return std::make_exception_ptr(std::runtime_error(text));
}

}  // namespace heddle::support
