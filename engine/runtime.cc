#include "engine/runtime.h"

#include <mutex>
#include <stdexcept>
#include <string>

#include "heddle/error.h"

#include "engine/base/environment.h"
#include "engine/base/sync.h"
#include "engine/device/gpu_spec.h"

namespace heddle {
namespace {

struct Configured {
  base::Mutex mutex;
  RuntimeOptions options;  // guarded by mutex
  bool settled = false;    // guarded by mutex; options never change once it is true
};

Configured& configured() {
  // Leaked: the first use may come from an object that is destroyed after main.
  static Configured* const instance = new Configured;
  return *instance;
}

void check_range(const char* field, long long value, long long least, long long most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument("[EngineOptions] " + std::string(field) + " is " +
                              std::to_string(value) + ": expected " + std::to_string(least) +
                              " to " + std::to_string(most));
}

}  // namespace

void check_engine_options(const EngineOptions& options) {
  constexpr int kMaxWindow = 1 << 16;
  if (options.kind > EngineKind::kExplore) {
    throw std::invalid_argument("[EngineOptions] kind is " +
                                std::to_string(static_cast<int>(options.kind)) +
                                ": expected kThreaded, kPooled, kNaive or kExplore");
  }
  if (options.max_pending == 0 || options.max_pending > base::kMaxPending) {
    throw std::invalid_argument("[EngineOptions] max_pending is " +
                                std::to_string(options.max_pending) + ": expected 1 to " +
                                std::to_string(base::kMaxPending));
  }
  check_range("cpu_workers", options.cpu_workers, 0, base::kMaxCpuWorkers);
  check_range("watchdog", options.watchdog.count(), 0, base::kMaxWatchdog.count());
  check_range("copy_window", options.copy_window, 1, kMaxWindow);
  check_range("compute_window", options.compute_window, 1, kMaxWindow);
}

void configure(const RuntimeOptions& options) {
  check_engine_options(options.engine);
  device::parse_gpu_spec(options.gpus, "RuntimeOptions::gpus");
  Configured& state = configured();
  const std::lock_guard lock(state.mutex);
  if (state.settled) {
    throw Error(
        "[configure] called after the default engine or the GPUs were used: expected "
        "before");
  }
  state.options = options;
}

RuntimeOptions resolved_runtime_options() {
  const base::Environment& environment = base::environment();
  Configured& state = configured();
  const std::lock_guard lock(state.mutex);
  state.settled = true;
  return base::merge_options(state.options, environment);
}

}  // namespace heddle
