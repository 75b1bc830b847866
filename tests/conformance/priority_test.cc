#include <array>
#include <cstddef>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/conformance/target.h"
#include "tests/support/engines.h"

namespace heddle::conformance {
namespace {

using support::one_worker_engines;
using support::parallel_engines;

TEST_CASE("what is ready in a lane runs by priority, then in the order of the pushes") {
  HEDDLE_FOR_EACH(configuration, one_worker_engines);
  EngineOptions options = configuration;
  options.copy_window = 1;
  options.compute_window = 1;
  Engine engine(options);
  for (const Device where : devices()) {
    for (const Lane lane : stream_lanes()) {
      support::Log<std::size_t> log;
      HeldStream held(engine, {}, {}, {.device = where, .lane = lane});
      held.wait_until_started();
      constexpr std::array kPriorities = {0, 5, -1, 5, 0, 100, -1, 5};
      for (std::size_t i = 0; i < kPriorities.size(); ++i) {
        engine.push(
            [&log, i](const RunContext& context) { in_stream(context, [&log, i] { log.add(i); }); },
            {}, {}, {.device = where, .lane = lane, .priority = kPriorities[i]});
      }
      held.release();
      engine.wait_for_all();
      CAPTURE(where.str(), lane_name(lane));
      CHECK(log.entries() == std::vector<std::size_t>{5, 1, 3, 7, 0, 4, 2, 6});
    }
  }
}

TEST_CASE("no priority lets an operation overtake one that it conflicts with") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<int> order;
  std::vector<int> expected;
  for (int i = 0; i < 200; ++i) {
    engine.push(
        [&order, i](const RunContext& context) {
          in_stream(context, [&order, i] { order.push_back(i); });
        },
        {}, {x}, {.device = device(static_cast<std::size_t>(i) / 3), .priority = i});
    expected.push_back(i);
  }
  engine.wait_for_var(x);
  CHECK(order == expected);
}

}  // namespace
}  // namespace heddle::conformance
