#include "tests/support/engines.h"

#include <cstdint>

namespace heddle::support {
namespace {

EngineOptions make(EngineKind kind, int workers) {
  EngineOptions options;
  options.kind = kind;
  options.cpu_workers = workers;
  return options;
}

std::string kind_name(EngineKind kind) {
  switch (kind) {
    case EngineKind::kThreaded:
      return "threaded";
    case EngineKind::kPooled:
      return "pooled";
    case EngineKind::kNaive:
      return "naive";
    case EngineKind::kExplore:
      return "explore";
  }
  return "unknown";
}

}  // namespace

std::vector<EngineOptions> parallel_engines() {
  std::vector<EngineOptions> engines;
  for (const EngineKind kind : {EngineKind::kThreaded, EngineKind::kPooled}) {
    for (const int workers : {1, 2, 8}) engines.push_back(make(kind, workers));
  }
  return engines;
}

std::vector<EngineOptions> every_engine() {
  std::vector<EngineOptions> engines = parallel_engines();
  engines.insert(engines.begin(), make(EngineKind::kNaive, 1));
  const std::vector<EngineOptions> explorers = explore_engines();
  engines.insert(engines.end(), explorers.begin(), explorers.end());
  return engines;
}

std::vector<EngineOptions> explore_engines() {
  std::vector<EngineOptions> engines;
  for (const int workers : {1, 2}) {
    for (const std::uint64_t seed : {0U, 1U, 2U}) {
      engines.push_back(make(EngineKind::kExplore, workers));
      engines.back().seed = seed;
    }
  }
  return engines;
}

std::vector<EngineOptions> one_worker_engines() {
  return {make(EngineKind::kThreaded, 1), make(EngineKind::kPooled, 1)};
}

EngineOptions traced(EngineOptions options) {
  options.trace = true;
  return options;
}

EngineOptions limited(EngineOptions options, std::size_t max_pending) {
  options.max_pending = max_pending;
  return options;
}

std::string describe(const EngineOptions& options) {
  std::string text =
      kind_name(options.kind) + ", " + std::to_string(options.cpu_workers) + " workers";
  if (options.kind == EngineKind::kExplore) text += ", seed " + std::to_string(options.seed);
  return text;
}

}  // namespace heddle::support
