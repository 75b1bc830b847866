#include "engine/make_engine.h"

#include <stdexcept>

#include "engine/base/cpus.h"
#include "engine/naive_engine.h"
#include "engine/runtime.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

EngineOptions resolve(EngineOptions options) {
  check_engine_options(options);
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
