#include "engine/make_engine.h"

#include <algorithm>

#include "engine/base/cpus.h"
#include "engine/explore_engine.h"
#include "engine/naive_engine.h"
#include "engine/runtime.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

EngineOptions resolve(EngineOptions options) {
  check_engine_options(options);
  if (options.cpu_workers != 0) return options;
  options.cpu_workers = base::usable_cpus();
  // Whether there is one worker or more changes a schedule, which must not depend on the machine.
  if (options.kind == EngineKind::kExplore) options.cpu_workers = std::max(options.cpu_workers, 2);
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
  return std::make_shared<ExploreEngine>(options);
}

}  // namespace heddle::detail
