#include "engine/base/openmp.h"

#include <algorithm>
#include <atomic>

#include <catch2/catch.hpp>
#include <omp.h>

#include "heddle/engine.h"

#include "engine/base/cpus.h"
#include "tests/support/cpu_set.h"
#include "tests/support/engines.h"
#include "tests/support/scale.h"

// What computes stays within the CPUs of the process, also where an operation opens parallel
// regions.

namespace heddle {
namespace {

TEST_CASE("OpenMP inside an operation gets the CPUs that the workers leave it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const Lane lane = GENERATE(Lane::kCompute, Lane::kCopyIn);
  CAPTURE(lane);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::atomic<int> threads = 0;
  engine.push([&threads] { threads = omp_get_max_threads(); }, {}, {x}, {.lane = lane});
  engine.wait_for_var(x);
  const int share = std::max(1, base::usable_cpus() / options.cpu_workers);
  CHECK(threads == std::min(share, omp_get_max_threads()));
}

/// How many threads a parallel region has that the calling thread opens.
int threads_of_region() {
  std::atomic<int> threads = 0;
#pragma omp parallel
  threads.fetch_add(1);
  return threads;
}

TEST_CASE("a parallel region inside an operation has as many threads as it is said to get") {
  if (support::kScale != 1) return;  // ThreadSanitizer does not see how OpenMP's threads wait
  const int workers = GENERATE(1, 2);
  Engine engine({.kind = EngineKind::kThreaded, .cpu_workers = workers});
  const Var x = engine.new_variable();
  std::atomic<int> threads = 0;
  std::atomic<int> most = 0;
  engine.push(
      [&threads, &most] {
        most = omp_get_max_threads();
        threads = threads_of_region();
      },
      {}, {x});
  engine.wait_for_var(x);
  CHECK(threads == most);
  CHECK(threads <= std::max(1, base::usable_cpus() / workers));
}

TEST_CASE("OpenMP inside an operation gets one thread where there is one CPU") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const support::FewerCpus fewer(1);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::atomic<int> threads = 0;
  engine.push([&threads] { threads = omp_get_max_threads(); }, {}, {x});
  engine.wait_for_var(x);
  CHECK(threads == 1);
}

TEST_CASE("OpenMP outside of operations keeps the threads that it had") {
  const int before = omp_get_max_threads();
  Engine engine;
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {x});
  engine.wait_for_var(x);
  CHECK(omp_get_max_threads() == before);
}

TEST_CASE("OpenMP inside an operation gets no more than was asked for outside") {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  base::OpenMp(/*workers=*/1).share_cpus();
  CHECK(omp_get_max_threads() == 1);
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace heddle
