#pragma once

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/relacy/model.h"
#include "tests/relacy/orders.h"

namespace heddle::relacy {

/// More steps than any test takes: one that gets there does not end.
constexpr unsigned kMaxSteps = 20000;

template <class Test>
bool holds(unsigned iterations, std::ostream& out,
           rl::scheduler_type_e scheduler = rl::sched_random) {
  rl::test_params params;
  params.iteration_count = iterations;
  params.output_stream = &out;
  params.progress_stream = &out;
  params.search_type = scheduler;
  params.execution_depth_limit = kMaxSteps;
  return rl::simulate<Test>(params);
}

/// Relacy says what happened, step by step, if it does not hold.
template <class Test>
void require_holds(unsigned iterations) {
  REQUIRE(holds<Test>(iterations, std::cout));
}

/// In every order of the steps and with every spurious failure; a load returns the newest value or
/// the one before.
template <class Test>
void require_holds_in_all_orders() {
  REQUIRE(holds<Test>(0, std::cout, rl::sched_full));
}

/// Each order that stands in `file`, if weakened, makes one of the tests fail; but for those that
/// `excused` names: these are not tried.
template <class... Tests>
void require_weaker_found(const std::string& file, unsigned iterations,
                          const std::vector<std::string>& excused = {}) {
  std::ostream nowhere(nullptr);
  start_recording();
  REQUIRE((holds<Tests>(200, nowhere) && ...));
  const std::vector<Weaker> all = stop_recording(file);
  REQUIRE(!all.empty());
  for (const std::string& text : excused) {
    INFO("excused, but not there: " << text);
    CHECK(std::any_of(all.begin(), all.end(), [&](const Weaker& w) { return w.text == text; }));
  }
  for (const Weaker& weaker : all) {
    if (std::find(excused.begin(), excused.end(), weaker.text) != excused.end()) continue;
    weaken(weaker);
    const bool missed = (holds<Tests>(iterations, nowhere) && ...);
    weaken(std::nullopt);
    INFO("not found: " << file << ":" << weaker.use.site.line << " " << weaker.text);
    CHECK(!missed);
  }
}

}  // namespace heddle::relacy
