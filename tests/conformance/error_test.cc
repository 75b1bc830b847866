#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

#include "tests/conformance/target.h"
#include "tests/support/engines.h"

// What fails on one device.

namespace heddle::conformance {
namespace {

using Catch::Matchers::Contains;
using support::parallel_engines;

TEST_CASE("an error travels over all devices and the host with the operation that it came from") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  for (const Device origin : devices()) {
    Var last = engine.new_variable();
    const std::uint64_t root = engine.push([] { throw std::runtime_error("on purpose"); }, {},
                                           {last}, {.device = origin, .name = "failing"});
    support::Counter ran;
    for (const Device where : memories()) {
      for (const Lane lane : stream_lanes()) {
        const Var next = engine.new_variable();
        engine.push([] {}, {last}, {next}, {.device = where, .lane = lane});
        last = next;
      }
    }
    try {
      engine.wait_for_var(last);
      FAIL("no error");
    } catch (const OpError& error) {
      CHECK(error.sequence() == root);
      CHECK(error.device() == origin);
      CHECK(error.op_name() == "failing");
      CHECK_THAT(error.what(), Contains("on purpose"));
    }
  }
}

TEST_CASE("of the errors of several devices the earliest one arrives") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  std::vector<Var> failed;
  std::vector<std::uint64_t> roots;
  for (std::size_t i = 0; i < 4; ++i) {
    failed.push_back(engine.new_variable());
    roots.push_back(engine.push([] { throw 1; }, {}, {failed.back()}, {.device = device(i)}));
  }
  const Var sum = engine.new_variable();
  engine.push([] {}, {failed[3], failed[1], failed[2], failed[0]}, {sum}, {.device = device(1)});
  CHECK(root_of(engine, sum) == roots[0]);
}

TEST_CASE("an error leaves alone what does not depend on it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var bad = engine.new_variable();
  const Var good = engine.new_variable();
  int value = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    engine.push([] { throw 1; }, {}, {bad}, {.device = device(i)});
    engine.push([&value](const RunContext& context) { in_stream(context, [&value] { ++value; }); },
                {}, {good}, {.device = device(i)});
  }
  CHECK(root_of(engine, good) == 0);
  CHECK(value == 50);
}

TEST_CASE("overwriting on another device heals") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  for (std::size_t i = 0; i < 20; ++i) {
    engine.push([] { throw 1; }, {}, {x}, {.device = device(i)});
    engine.push([] {}, {}, {x}, {.device = device(i + 1), .overwrites = true});
  }
  CHECK(root_of(engine, x) == 0);
  CHECK(engine.version(x) == 40);
}

TEST_CASE("a wait for everything tells the errors of all devices") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  std::vector<std::uint64_t> roots;
  for (const Device where : devices()) {
    const Var x = engine.new_variable();
    roots.push_back(engine.push([] { throw 1; }, {}, {x}, {.device = where}));
  }
  std::vector<std::uint64_t> told;
  try {
    engine.wait_for_all();
  } catch (const AggregateError& aggregate) {
    for (const OpError& error : aggregate.errors()) told.push_back(error.sequence());
  }
  CHECK(told == roots);
}

TEST_CASE("an array that failed poisons its copies on other devices until it is written anew") {
  Engine& engine = Engine::get();
  for (std::size_t i = 0; i < devices().size(); ++i) {
    const NDArray x = NDArray::ones({100}, device(i));
    const std::uint64_t root = engine.push([] { throw std::runtime_error("on purpose"); }, {},
                                           {x.var()}, {.device = device(i)});
    const NDArray doubled = x.to(device(i + 1)) * 2.0F;
    const NDArray back = doubled.to(Device::cpu());
    CHECK(root_of(engine, back.var()) == root);
    CHECK_THROWS_WITH(back.to_vector<float>(), Contains("on purpose"));
    x.copy_from(NDArray::full({100}, 3.0F, device(i + 1)));
    CHECK((x + 1.0F).to_vector<float>() == std::vector<float>(100, 4.0F));
  }
}

TEST_CASE("an index out of range fails on the device, by name, and the device goes on") {
  for (const Device where : devices()) {
    const NDArray table = NDArray::arange(0, 10, 1, where);
    const NDArray taken = take(table, array_of<std::int64_t>({3, 10}, where));
    const NDArray copied = taken.to(Device::cpu());
    CHECK_THROWS_WITH(copied.wait_to_read(), Contains("[take]") && Contains("10"));
    CHECK(take(table, array_of<std::int64_t>({3, 9}, where)).to_vector<float>() ==
          std::vector<float>{3, 9});
  }
}

}  // namespace
}  // namespace heddle::conformance
