#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/options.h"

namespace heddle::support {

/// kNaive, kThreaded and kPooled with 1, 2 and 8 workers, and explore_engines().
std::vector<EngineOptions> every_engine();

/// kThreaded and kPooled with 1, 2 and 8 workers: operations run beside the thread that pushes
/// them.
std::vector<EngineOptions> parallel_engines();

/// kThreaded and kPooled with one worker, where the order of independent operations is exact.
std::vector<EngineOptions> one_worker_engines();

/// kExplore with one worker and with more, some seeds each: a wait runs the operations.
std::vector<EngineOptions> explore_engines();

/// The same with a record of every operation.
EngineOptions traced(EngineOptions options);

/// The same with room for so many pending operations.
EngineOptions limited(EngineOptions options, std::size_t max_pending);

/// "threaded, 2 workers".
std::string describe(const EngineOptions& options);

}  // namespace heddle::support

template <>
struct Catch::StringMaker<heddle::EngineOptions> {
  static std::string convert(const heddle::EngineOptions& options) {
    return heddle::support::describe(options);
  }
};

/// Runs the rest of the test case once for each of a list of EngineOptions.
#define HEDDLE_FOR_EACH(options, list)                                      \
  const ::heddle::EngineOptions options =                                   \
      GENERATE(::Catch::Generators::from_range(::heddle::support::list())); \
  CAPTURE(options)
