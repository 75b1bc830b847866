#pragma once

namespace heddle::support {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HEDDLE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HEDDLE_SANITIZED 1
#endif
#endif

/// Divides the amount of work in tests whose value grows with it.
#if defined(HEDDLE_SANITIZED)
inline constexpr int kScale = 20;
#else
inline constexpr int kScale = 1;
#endif

}  // namespace heddle::support
