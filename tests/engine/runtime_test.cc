#include "engine/runtime.h"

#include <stdexcept>

#include <catch2/catch.hpp>

#include "heddle/device.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("configure throws once the GPUs are settled") {
  CHECK(num_gpus() == 3);
  CHECK_THROWS_AS(configure(RuntimeOptions{}), Error);
  CHECK_THROWS_WITH(configure(RuntimeOptions{}), Contains("[configure]"));
}

TEST_CASE("what was configured is what the runtime is made from") {
  CHECK(resolved_runtime_options().gpus == "sim:3");
}

TEST_CASE("an option out of range is refused with its name, value and range") {
  RuntimeOptions options;
  std::string field;
  SECTION("cpu_workers below 0") {
    options.engine.cpu_workers = -1;
    field = "cpu_workers is -1";
  }
  SECTION("cpu_workers above 1024") {
    options.engine.cpu_workers = 1025;
    field = "cpu_workers is 1025";
  }
  SECTION("max_pending of 0") {
    options.engine.max_pending = 0;
    field = "max_pending is 0";
  }
  SECTION("a negative watchdog") {
    options.engine.watchdog = std::chrono::milliseconds(-1);
    field = "watchdog is -1";
  }
  SECTION("a copy window of 0") {
    options.engine.copy_window = 0;
    field = "copy_window is 0";
  }
  SECTION("a compute window of 0") {
    options.engine.compute_window = 0;
    field = "compute_window is 0";
  }
  CHECK_THROWS_AS(configure(options), std::invalid_argument);
  CHECK_THROWS_WITH(configure(options), Contains(field) && Contains("expected"));
}

TEST_CASE("GPUs that do not parse are refused by configure") {
  RuntimeOptions options;
  options.gpus = "sim:none";
  CHECK_THROWS_AS(configure(options), std::invalid_argument);
}

}  // namespace
}  // namespace heddle
