#include "engine/fork.h"

#include <string>

#include <pthread.h>

#include "heddle/error.h"

namespace heddle::detail {

constinit ProcessMark g_process_mark = 0;

namespace {

// Runs in a child that may hold nothing but this one thread: it may do no more than this.
void count_fork() { ++g_process_mark; }

}  // namespace

ProcessMark current_process() {
  static const int installed = pthread_atfork(nullptr, nullptr, count_fork);
  static_cast<void>(installed);
  return g_process_mark;
}

void refuse_child(const char* call) {
  throw ForkedChild("[" + std::string(call) +
                    "] the engine was made before fork(): a child process cannot use it");
}

}  // namespace heddle::detail
