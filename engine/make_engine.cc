#include "engine/make_engine.h"

#include <stdexcept>
#include <string>

#include "engine/base/cpus.h"
#include "engine/naive_engine.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

void check_at_least(const char* field, long long value, long long least) {
  if (value >= least) return;
  throw std::invalid_argument("[EngineOptions] " + std::string(field) + " is " +
                              std::to_string(value) + ", expected at least " +
                              std::to_string(least));
}

EngineOptions resolve(EngineOptions options) {
  check_at_least("cpu_workers", options.cpu_workers, 0);
  check_at_least("watchdog", options.watchdog.count(), 0);
  check_at_least("copy_window", options.copy_window, 1);
  check_at_least("compute_window", options.compute_window, 1);
  if (options.max_pending == 0) check_at_least("max_pending", 0, 1);
  if (options.cpu_workers == 0) options.cpu_workers = base::usable_cpus();
  return options;
}

}  // namespace

std::shared_ptr<EngineCore> make_engine(const EngineOptions& given) {
  const EngineOptions options = resolve(given);
  switch (options.kind) {
    case EngineKind::kNaive:
      return std::make_shared<NaiveEngine>(options);
    case EngineKind::kThreaded:
    case EngineKind::kPooled:
      return std::make_shared<ThreadedEngine>(options);
    case EngineKind::kExplore:
      break;
  }
  throw std::invalid_argument(
      "[EngineOptions] kind is not one that this version has: expected "
      "kThreaded, kPooled or kNaive");
}

}  // namespace heddle::detail
