#pragma once

// Not <relacy/relacy.hpp>: it makes macros of new, delete and the memory orders.
#include <relacy/base.hpp>
//
#include <relacy/context.hpp>
//
#include <relacy/context_base_impl.hpp>
//
#include <relacy/atomic.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/backoff.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/event.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/thread_local.hpp>
#include <relacy/var.hpp>

#include "tests/relacy/orders.h"

namespace heddle::relacy {

inline rl::debug_info info(const Site& site) {
  return {site.function, site.file, static_cast<unsigned>(site.line)};
}

/// Fails the test that is being simulated unless `is_true`.
inline void check(bool is_true, const char* what, const Site& site = Site::here()) {
  if (!is_true) rl::ctx().fail_test(what, rl::test_result_user_assert_failed, info(site));
}

/// Data that threads pass on: a test in which two of them are at it at once, or that reads it
/// before it is written, fails.
template <class T>
class Plain {
 public:
  Plain() = default;
  Plain(T value) : var_(value) {}  // NOLINT(google-explicit-constructor): used as a T
  Plain(const Plain&) = delete;

  Plain& operator=(T value) {
    var_(info(Site::here())).store(value);
    return *this;
  }
  operator T() const {  // NOLINT(google-explicit-constructor)
    return var_(info(Site::here())).load();
  }

 private:
  rl::var<T> var_;
};

}  // namespace heddle::relacy
