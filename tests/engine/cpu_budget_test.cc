#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "engine/base/cpus.h"
#include "tests/support/cpu_set.h"
#include "tests/support/engines.h"
#include "tests/support/gate.h"

// What computes stays within the CPUs that the process may use.

namespace heddle {
namespace {

using support::cpus_of_thread;
using support::FewerCpus;
using support::Log;

TEST_CASE("an engine has a worker for each CPU that may be used when it is made") {
  HEDDLE_FOR_EACH(configuration, every_engine);
  EngineOptions options = configuration;
  options.cpu_workers = 0;
  const int usable = base::usable_cpus();  // less than there are where a quota says so
  const int least = options.kind == EngineKind::kExplore ? 2 : 1;
  for (std::size_t cpus = cpus_of_thread().size(); cpus > 0; cpus /= 2) {
    const FewerCpus fewer(cpus);
    const Engine engine(options);
    CHECK(engine.options().cpu_workers ==
          std::max(least, std::min(usable, static_cast<int>(cpus))));
  }
}

TEST_CASE("a number of workers that was asked for does not depend on the CPUs") {
  HEDDLE_FOR_EACH(options, every_engine);
  const FewerCpus fewer(1);
  const Engine engine(options);
  CHECK(engine.options().cpu_workers == options.cpu_workers);
}

TEST_CASE("operations keep to the CPUs that might be used when their engine was made") {
  HEDDLE_FOR_EACH(options, every_engine);
  const FewerCpus fewer(1);
  const std::vector<std::size_t> allowed = cpus_of_thread();
  Engine engine(options);
  Log<std::vector<std::size_t>> seen;
  for (int i = 0; i < 100; ++i) {
    engine.push(
        [&seen] {
          std::this_thread::yield();
          seen.add(cpus_of_thread());
        },
        {}, {});
  }
  engine.wait_for_all();
  const std::vector<std::vector<std::size_t>> entries = seen.entries();
  CHECK(entries.size() == 100);
  CHECK(std::count(entries.begin(), entries.end(), allowed) == 100);
}

}  // namespace
}  // namespace heddle
