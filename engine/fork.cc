#include "engine/fork.h"

#include <string>

#include <pthread.h>

#include "heddle/error.h"

#include "engine/base/sync.h"

namespace heddle::detail {
namespace {

base::Atomic<ProcessMark> g_mark{0};

// Runs in a child that may hold nothing but this one thread: it may do no more than this.
void count_fork() { g_mark.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

ProcessMark current_process() {
  static const int installed = pthread_atfork(nullptr, nullptr, count_fork);
  static_cast<void>(installed);
  return g_mark.load(std::memory_order_relaxed);
}

bool in_forked_child(ProcessMark made_in) {
  return g_mark.load(std::memory_order_relaxed) != made_in;
}

void check_process(ProcessMark made_in, const char* call) {
  if (!in_forked_child(made_in)) return;
  throw ForkedChild("[" + std::string(call) +
                    "] the engine was made before fork(): a child process cannot use it");
}

}  // namespace heddle::detail
