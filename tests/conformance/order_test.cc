#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/conformance/target.h"
#include "tests/support/engines.h"
#include "tests/support/random_program.h"

// Operations that share variables run in the order of their pushes, wherever they run; the values
// are touched when the streams come to the operations.

namespace heddle::conformance {
namespace {

using support::mix;
using support::parallel_engines;

TEST_CASE("conflicting operations of one lane run in the order of their pushes") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  for (const Device where : devices()) {
    for (const Lane lane : stream_lanes()) {
      const Var x = engine.new_variable();
      std::vector<int> order;
      for (int i = 0; i < 200; ++i) {
        engine.push(
            [&order, i](const RunContext& context) {
              in_stream(context, [&order, i] { order.push_back(i); });
            },
            {}, {x}, {.device = where, .lane = lane});
      }
      engine.wait_for_var(x);
      CHECK(order.size() == 200);
      CHECK(std::is_sorted(order.begin(), order.end()));
    }
  }
}

TEST_CASE("a chain over all devices and lanes and the host runs in order") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<std::size_t> order;
  std::size_t pushed = 0;
  while (pushed < 1000) {
    for (const Lane lane : stream_lanes()) {
      for (const Device where : memories()) {
        engine.push(
            [&order, pushed](const RunContext& context) {
              in_stream(context, [&order, pushed] { order.push_back(pushed); });
            },
            {}, {x}, {.device = where, .lane = lane});
        ++pushed;
      }
    }
  }
  engine.wait_for_var(x);
  CHECK(order.size() == pushed);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("readers on every device see the write before them and none after") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  constexpr std::uint64_t kRounds = 30;
  const Var x = engine.new_variable();
  std::uint64_t value = 0;
  std::vector<Var> seen_vars;
  std::vector<std::vector<std::uint64_t>> seen(devices().size());
  for (std::size_t i = 0; i < seen.size(); ++i) seen_vars.push_back(engine.new_variable());
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    engine.push([&value](const RunContext& context) { in_stream(context, [&value] { ++value; }); },
                {}, {x},
                {.device = device(round), .lane = round % 2 == 0 ? Lane::kCompute : Lane::kCopyIn});
    for (std::size_t i = 0; i < seen.size(); ++i) {
      engine.push(
          [&value, &mine = seen[i]](const RunContext& context) {
            in_stream(context, [&value, &mine] { mine.push_back(value); });
          },
          {x}, {seen_vars[i]}, {.device = device(i)});
    }
  }
  engine.wait_for_all();
  std::vector<std::uint64_t> expected;
  for (std::uint64_t round = 1; round <= kRounds; ++round) expected.push_back(round);
  for (const std::vector<std::uint64_t>& mine : seen) CHECK(mine == expected);
}

TEST_CASE("chains that cross each other between devices give the values of their serial order") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  constexpr std::size_t kVariables = 5;
  constexpr std::size_t kOperations = 3000;
  std::vector<Var> vars;
  for (std::size_t i = 0; i < kVariables; ++i) vars.push_back(engine.new_variable());
  std::vector<std::uint64_t> values(kVariables);
  std::vector<std::uint64_t> expected(kVariables);
  for (std::size_t i = 0; i < kOperations; ++i) {
    const std::uint64_t random = mix(i, 1);
    const std::size_t from = random % kVariables;
    const std::size_t to = (random >> 8U) % kVariables;
    const auto step = [from, to, i](std::vector<std::uint64_t>& all) {
      all[to] = mix(all[to], mix(all[from], i));
    };
    step(expected);
    engine.push(
        [step, &values](const RunContext& context) {
          in_stream(context, [step, &values] { step(values); });
        },
        {vars[from]}, {vars[to]},
        {.device = device((random >> 16U) % (kVariables + 2)),
         .lane = stream_lanes()[(random >> 24U) % stream_lanes().size()],
         .priority = static_cast<int>((random >> 32U) % 3)});
  }
  engine.wait_for_all();
  CHECK(values == expected);
}

TEST_CASE("an operation on the host follows what a device has done, and a device the host") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  int value = 0;
  int wrong = 0;
  for (int i = 0; i < 100; ++i) {
    engine.push([&value](const RunContext& context) { in_stream(context, [&value] { ++value; }); },
                {}, {x}, {.device = device(static_cast<std::size_t>(i))});
    engine.push([&value, &wrong, i] { wrong += value++ == 2 * i + 1 ? 0 : 1; }, {}, {x});
  }
  engine.wait_for_var(x);
  CHECK(wrong == 0);
  CHECK(value == 200);
}

}  // namespace
}  // namespace heddle::conformance
