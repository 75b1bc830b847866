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

/// All weaker orders for what the tests do in `file`.
template <class... Tests>
std::vector<Weaker> all_weaker(const std::string& file) {
  std::ostream nowhere(nullptr);
  start_recording();
  REQUIRE((holds<Tests>(200, nowhere) && ...));
  std::vector<Weaker> all = stop_recording(file);
  REQUIRE(!all.empty());
  return all;
}

/// One of the tests must fail with `weaker`.
template <class... Tests>
void check_found(const Weaker& weaker, unsigned iterations) {
  std::ostream nowhere(nullptr);
  weaken(weaker);
  const bool missed = (holds<Tests>(iterations, nowhere) && ...);
  weaken(std::nullopt);
  INFO("not found: " << weaker.use.site.file << ":" << weaker.use.site.line << " " << weaker.text);
  CHECK(!missed);
}

inline const Weaker* find(const std::vector<Weaker>& all, const std::string& text) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Weaker& weaker) { return weaker.text == text; });
  INFO("named, but not there: " << text);
  CHECK(found != all.end());
  return found != all.end() ? &*found : nullptr;
}

/// Each order that stands in `file`, if weakened, makes one of the tests fail; but for those that
/// `excused` names: these are not tried.
template <class... Tests>
void require_weaker_found(const std::string& file, unsigned iterations,
                          const std::vector<std::string>& excused = {}) {
  const std::vector<Weaker> all = all_weaker<Tests...>(file);
  std::vector<const Weaker*> left_out;
  for (const std::string& text : excused) left_out.push_back(find(all, text));
  for (const Weaker& weaker : all) {
    if (std::find(left_out.begin(), left_out.end(), &weaker) != left_out.end()) continue;
    check_found<Tests...>(weaker, iterations);
  }
}

/// The same, but only for those that `vital` names.
template <class... Tests>
void require_vital_found(const std::string& file, unsigned iterations,
                         const std::vector<std::string>& vital) {
  const std::vector<Weaker> all = all_weaker<Tests...>(file);
  for (const std::string& text : vital) {
    if (const Weaker* const weaker = find(all, text)) check_found<Tests...>(*weaker, iterations);
  }
}

}  // namespace heddle::relacy
