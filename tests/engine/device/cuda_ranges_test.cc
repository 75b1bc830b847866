#include "engine/device/cuda_ranges.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/error.h"

#include "tests/support/fake_cuda_profiler.h"

namespace heddle::device {
namespace {

using support::take_ranges;
using Ranges = std::vector<std::string>;

TEST_CASE("a profiler sees each operation of a GPU by its name while its callable runs") {
  take_ranges();
  Engine engine;
  const Var x = engine.new_variable();
  Ranges inside;
  engine.push([&] { inside = take_ranges(); }, {}, {x},
              {.device = Device::gpu(0), .name = "forward"});
  engine.push([] {}, {}, {x}, {.device = Device::gpu(1), .lane = Lane::kComm, .name = "gradient"});
  engine.push([] {}, {}, {x}, {.name = "on the CPU"});
  engine.wait_for_var(x);
  CHECK(inside == Ranges{"heddle: forward"});
  CHECK(take_ranges() == Ranges{"end", "heddle: gradient", "end"});
}

TEST_CASE("a profiler sees an operation without a name by its number") {
  take_ranges();
  Engine engine;
  const Var x = engine.new_variable();
  const std::uint64_t sequence = engine.push([] {}, {}, {x}, {.device = Device::gpu(0)});
  engine.wait_for_var(x);
  CHECK(take_ranges() == Ranges{"heddle: #" + std::to_string(sequence), "end"});
}

TEST_CASE("the range of an operation ends although its callable throws") {
  take_ranges();
  Engine engine;
  const Var x = engine.new_variable();
  engine.push([] { throw std::runtime_error("on purpose"); }, {}, {x},
              {.device = Device::gpu(0), .name = "thrower"});
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  CHECK(take_ranges() == Ranges{"heddle: thrower", "end"});
}

TEST_CASE("the range of an operation that another one pushes comes after that one's") {
  take_ranges();
  Engine engine;
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  engine.push([&] { engine.push([] {}, {}, {y}, {.device = Device::gpu(1), .name = "inner"}); }, {},
              {x}, {.device = Device::gpu(0), .name = "outer"});
  engine.wait_for_all();
  CHECK(take_ranges() == Ranges{"heddle: outer", "end", "heddle: inner", "end"});
}

TEST_CASE("names that are very long are cut") {
  take_ranges();
  { const CudaRange range(std::string(1000, 'x'), 7); }
  CHECK(take_ranges() == Ranges{"heddle: " + std::string(255, 'x'), "end"});
}

}  // namespace
}  // namespace heddle::device
