#include "tests/faults/failing_threads.h"

#include <atomic>
#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>

namespace {

std::atomic<int> g_left{-1};  // creations that still succeed; negative: all
std::atomic<int> g_refused{0};

bool may_create() {
  int left = g_left.load();
  while (left > 0 && !g_left.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 0) return true;
  ++g_refused;
  return false;
}

}  // namespace

/// Stands before that of the C library, and of a sanitizer.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  if (!may_create()) return EAGAIN;
  static const auto next =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, run, argument);
}

namespace heddle::faults {

FailingThreads::FailingThreads(int first) {
  g_refused.store(0);
  g_left.store(first - 1);
}

FailingThreads::~FailingThreads() { g_left.store(-1); }

int FailingThreads::refused() const { return g_refused.load(); }

}  // namespace heddle::faults
