#include <cstdlib>

#include "heddle/engine.h"

#include "engine/base/sync.h"
#include "engine/engine_core.h"
#include "engine/runtime.h"

namespace heddle {
namespace {

constexpr std::chrono::seconds kExitLimit{2};

base::Atomic<void (*)()> g_drain{nullptr};  // null: there is no default engine, or it is drained

}  // namespace

void drain_at_exit() {
  std::atexit([] {
    if (void (*const drain)() = g_drain.exchange(nullptr)) drain();
  });
}

// Never destroyed: static objects that are destroyed after main may still hold arrays, and threads
// that nobody joined may still push. The exit handler stands before the handlers of whatever was
// initialized earlier, and lets the work in flight end first.
Engine& Engine::get() {
  static Engine& engine = []() -> Engine& {
    static Engine* const made = new Engine(resolved_runtime_options().engine);
    g_drain.store([] {
      if (!detail::in_forked_child(made->core_->process())) made->core_->finish_at_exit(kExitLimit);
    });
    drain_at_exit();
    return *made;
  }();
  return engine;
}

}  // namespace heddle
