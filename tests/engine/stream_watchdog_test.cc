#include <chrono>
#include <string>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/standard_error.h"

// What the watchdog says of operations on streams. This program has simulated GPUs.

namespace heddle {
namespace {

using Catch::Contains;
using support::HeldOperation;

TEST_CASE("the watchdog names what a stream runs, what is issued behind it, and who waits for it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  EngineOptions watched = options;
  watched.watchdog = std::chrono::milliseconds(500);
  Engine engine(watched);
  const Var x = engine.new_variable("x");
  std::string text;
  {
    const support::StandardError captured;
    HeldOperation held(engine, {}, {x}, {.device = Device::gpu(0), .name = "stuck"});
    engine.push([] {}, {}, {x}, {.device = Device::gpu(0), .name = "issued"});
    engine.push([] {}, {x}, {}, {.name = "reader"});
    held.wait_until_started();
    text = captured.wait();
    held.release();
    engine.wait_for_all();
  }
  CHECK_THAT(text, Contains("3 operations are pending"));
  CHECK_THAT(text, Contains("#1 'stuck' on gpu(0), lane compute: runs, for at least"));
  CHECK_THAT(text, Contains("#2 'issued' on gpu(0), lane compute: issued to its stream"));
  CHECK_THAT(text,
             Contains("#3 'reader' on cpu(0), lane compute: waits for #2 'issued' (variable 'x')"));
}

}  // namespace
}  // namespace heddle
