#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/conformance/target.h"
#include "tests/support/engines.h"

// What who waits can rely on.

namespace heddle::conformance {
namespace {

using support::parallel_engines;

TEST_CASE("a wait for a variable sees what a device has done") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  int value = 0;
  for (int i = 1; i <= 100; ++i) {
    engine.push([&value](const RunContext& context) { in_stream(context, [&value] { ++value; }); },
                {}, {x}, {.device = device(static_cast<std::size_t>(i))});
    engine.wait_for_var(x);
    REQUIRE(value == i);
  }
}

TEST_CASE("a wait for a variable that is unused outlasts its readers on every device") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  support::Counter readers;
  for (std::size_t round = 1; round <= 20; ++round) {
    for (const Device where : devices()) {
      engine.push(
          [&readers](const RunContext& context) {
            in_stream(context, [&readers] { readers.add(); });
          },
          {x}, {}, {.device = where, .lane = Lane::kCopyOut});
    }
    engine.wait_for_var_unused(x);
    REQUIRE(readers.value() == round * devices().size());
  }
}

TEST_CASE("a wait for everything outlasts the streams of every device") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  support::Counter ended;
  std::size_t pushed = 0;
  for (int round = 0; round < 10; ++round) {
    for (const Device where : devices()) {
      for (const Lane lane : stream_lanes()) {
        engine.push(
            [&ended](const RunContext& context) { in_stream(context, [&ended] { ended.add(); }); },
            {}, {}, {.device = where, .lane = lane});
        ++pushed;
      }
    }
    engine.wait_for_all();
    REQUIRE(ended.value() == pushed);
  }
}

TEST_CASE("a variable's version counts the writes of all devices") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  for (const Device where : memories()) {
    engine.push([] {}, {}, {x}, {.device = where});
    engine.push([] {}, {x}, {}, {.device = where});
  }
  engine.wait_for_var(x);
  CHECK(engine.version(x) == memories().size());
}

TEST_CASE("what is done last for a variable follows its operations on every device") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  for (int round = 0; round < 20; ++round) {
    const Var x = engine.new_variable();
    support::Counter ended;
    std::size_t at_last = 0;
    for (const Device where : memories()) {
      engine.push(
          [&ended](const RunContext& context) { in_stream(context, [&ended] { ended.add(); }); },
          {x}, {}, {.device = where});
    }
    engine.delete_variable(x, [&] { at_last = ended.value(); });
    engine.wait_for_all();
    REQUIRE(at_last == memories().size());
  }
}

TEST_CASE("a stream that stands still holds up no other lane and no other device") {
  Engine engine({.cpu_workers = 4});
  for (const Lane held_lane : stream_lanes()) {
    HeldStream held(engine, {}, {}, {.device = device(0), .lane = held_lane});
    held.wait_until_started();
    std::vector<Var> others;
    for (const Device where : devices()) {
      for (const Lane lane : stream_lanes()) {
        if (where == device(0) && lane == held_lane) continue;
        if (!where.is_gpu() && lane == held_lane) continue;  // the names of the CPU share its lanes
        others.push_back(engine.new_variable());
        for (int i = 0; i < 10; ++i) {
          engine.push([] {}, {}, {others.back()}, {.device = where, .lane = lane});
        }
      }
    }
    for (const Var& var : others) engine.wait_for_var(var);
    for (const Var& var : others) CHECK(engine.version(var) == 10);
  }
}

}  // namespace
}  // namespace heddle::conformance
