#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/cancel.h"
#include "heddle/engine.h"
#include "heddle/error.h"

#include "tests/support/engines.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"
#include "tests/support/root_of.h"

// The contract on simulated GPUs on which something goes wrong.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::Counter;
using support::ForeignThread;
using support::parallel_engines;
using support::root_of;

Device sound() { return Device::gpu(0); }
/// Fails each launch.
Device failing() { return Device::gpu(1); }
/// Fails each third launch.
Device thirds() { return Device::gpu(2); }
/// Is lost from launch 30 on. One case uses it as long as it is not.
Device losing() { return Device::gpu(3); }
/// As losing(), for the other cases.
Device soon_lost() { return Device::gpu(4); }

/// What waiting for `var` throws, or "".
std::string error_of(Engine& engine, const Var& var) {
  try {
    engine.wait_for_var(var);
  } catch (const OpError& error) {
    return error.what();
  }
  return {};
}

/// The variables of which waiting throws, as numbers of their operations.
std::vector<std::uint64_t> roots_of(Engine& engine, const std::vector<Var>& vars) {
  std::vector<std::uint64_t> roots;
  for (const Var& var : vars) {
    const std::uint64_t root = root_of(engine, var);
    if (root != 0) roots.push_back(root);
  }
  return roots;
}

/// Issues operations to soon_lost() until it is lost, and forgets their errors.
void lose(Engine& engine) {
  const Var x = engine.new_variable();
  for (int i = 0; i < 30; ++i) {
    engine.push([] {}, {}, {x}, {.device = soon_lost(), .overwrites = true});
  }
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
}

TEST_CASE("each third operation of a GPU fails by name, and its consumers with it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  std::vector<Var> produced;
  std::vector<Var> consumed;
  for (int i = 0; i < 30; ++i) {
    produced.push_back(engine.new_variable());
    consumed.push_back(engine.new_variable());
    engine.push([] {}, {}, {produced.back()}, {.device = thirds(), .name = "launch"});
    engine.push([] {}, {produced.back()}, {consumed.back()},
                {.device = i % 2 ? sound() : Device()});
  }
  const std::vector<std::uint64_t> roots = roots_of(engine, produced);
  CHECK(roots.size() == 10);
  CHECK(roots_of(engine, consumed) == roots);
  try {
    engine.wait_for_all();
    for (const Var& var : produced) engine.wait_for_var(var);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.sequence() == roots[0]);
    CHECK(error.device() == thirds());
    CHECK(error.op_name() == "launch");
    CHECK_THAT(error.what(), Contains("[gpu(2)] injected fault: launch ") && Contains(" failed"));
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), DeviceError);
  }
}

TEST_CASE("the callable of an operation that fails has run, and is destroyed") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto kept = std::make_shared<int>(0);
  engine.push([kept] { ++*kept; }, {}, {x}, {.device = failing()});
  CHECK_THAT(error_of(engine, x), Contains("injected fault"));
  CHECK(*kept == 1);
  CHECK(kept.use_count() == 1);
}

TEST_CASE("what an operation throws goes before the fault of its GPU") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] { throw std::runtime_error("on purpose"); }, {}, {x}, {.device = failing()});
  CHECK_THAT(error_of(engine, x), Contains("on purpose") && !Contains("injected"));
}

TEST_CASE("poison and cancellation go before the fault of a GPU") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const std::uint64_t root = engine.push([] { throw 1; }, {}, {x}, {.device = sound()});
  engine.push([] {}, {x}, {y}, {.device = failing()});
  CHECK(root_of(engine, y) == root);
  CancelSource source;
  source.cancel();
  const Var z = engine.new_variable();
  engine.push([] {}, {}, {z}, {.device = failing(), .cancel = source.token()});
  CHECK_THROWS_AS(engine.wait_for_var(z), Cancelled);
}

TEST_CASE("what is overwritten on a sound GPU is healed of a fault") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  for (int i = 0; i < 20; ++i) {
    engine.push([] {}, {}, {x}, {.device = failing()});
    engine.push([] {}, {}, {x}, {.device = sound(), .overwrites = true});
  }
  CHECK(error_of(engine, x).empty());
  CHECK(engine.version(x) == 40);
}

TEST_CASE("the last of a variable runs on a GPU that fails") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  Counter ran;
  for (const bool brief : {false, true}) {
    engine.delete_variable(engine.new_variable(), [&ran] { ran.add(); },
                           {.device = failing(), .brief = brief});
  }
  ran.wait_for(2);
  CHECK(ran.value() == 2);
}

TEST_CASE("an asynchronous operation that a GPU fails ends when its Completion is used") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  ForeignThread foreign;
  Engine engine(options);
  const bool at_once = GENERATE(true, false);
  std::vector<Var> vars;
  for (int i = 0; i < 30; ++i) {
    vars.push_back(engine.new_variable());
    engine.push_async(
        [&foreign, at_once](RunContext&, Completion completion) {
          if (at_once) return completion.done();
          foreign.post(
              [kept = std::make_shared<Completion>(std::move(completion))] { kept->done(); });
        },
        {}, {vars.back()}, {.device = thirds()});
  }
  CHECK(roots_of(engine, vars).size() == 10);
}

TEST_CASE("an asynchronous operation that a GPU fails has one error") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async([](RunContext&, Completion) -> void { throw std::runtime_error("on purpose"); },
                    {}, {x}, {.device = failing()});
  CHECK_THAT(error_of(engine, x), Contains("on purpose"));
  const Var y = engine.new_variable();
  engine.push_async([](RunContext&, const Completion&) {}, {}, {y}, {.device = failing()});
  CHECK_THAT(error_of(engine, y), Contains("injected fault"));
  CHECK_NOTHROW(engine.wait_for_all());
}

TEST_CASE("a GPU that is lost fails what is on it, and the rest goes on") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var shared = engine.new_variable();
  const Var beside = engine.new_variable();
  const Var host = engine.new_variable();
  int on_gpu = 0;
  int on_host = 0;
  for (int i = 0; i < 100; ++i) {
    engine.push([] {}, {}, {shared}, {.device = i % 2 == 0 ? losing() : sound()});
    engine.push([&on_gpu] { ++on_gpu; }, {}, {beside}, {.device = sound()});
    engine.push([&on_host] { ++on_host; }, {}, {host});
  }
  try {
    engine.wait_for_var(shared);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.device() == losing());
    CHECK_THAT(error.what(), Contains("[gpu(3)] the simulated GPU is lost from launch 30 on"));
  }
  CHECK(error_of(engine, beside).empty());
  CHECK(error_of(engine, host).empty());
  CHECK(on_gpu == 100);
  CHECK(on_host == 100);
}

TEST_CASE("every operation on a lost GPU has an error of its own") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  lose(engine);
  std::vector<std::uint64_t> pushed;
  for (const Lane lane : {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm}) {
    pushed.push_back(
        engine.push([] {}, {}, {engine.new_variable()}, {.device = soon_lost(), .lane = lane}));
  }
  std::vector<std::uint64_t> told;
  try {
    engine.wait_for_all();
  } catch (const AggregateError& aggregate) {
    for (const OpError& error : aggregate.errors()) {
      told.push_back(error.sequence());
      CHECK_THAT(error.what(), Contains("[gpu(4)]") && Contains("lost"));
    }
  }
  CHECK(told == pushed);
}

TEST_CASE("engines on a lost GPU come and go, with work in flight") {
  int ran = 0;
  for (int i = 0; i < 30; ++i) {
    Engine engine;
    const Var x = engine.new_variable();
    lose(engine);
    for (const Lane lane : {Lane::kCompute, Lane::kCopyIn, Lane::kComm}) {
      engine.push([&ran] { ++ran; }, {}, {x},
                  {.device = soon_lost(), .lane = lane, .overwrites = true});
    }
  }
  CHECK(ran == 90);
}

}  // namespace
}  // namespace heddle
