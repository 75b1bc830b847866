#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "ndarray/array_access.h"
#include "tests/ndarray/arrays.h"

// EngineOptions::access_check. The default engine of this program has it on.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::devices;

/// The violation that `operation` fails with, or "" if it completes.
template <class Push>
std::string violation(Push push) {
  const Var done = Engine::get().new_variable("done");
  push(done);
  try {
    Engine::get().wait_for_var(done);
  } catch (const OpError& error) {
    try {
      std::rethrow_exception(error.cause());
    } catch (const AccessViolation& cause) {
      return cause.what();
    }
  }
  return "";
}

/// Of an operation called "scale" that runs `body` and declares what is given, and a variable.
template <class Body>
std::string violation_of(Body body, const std::vector<Var>& reads, std::vector<Var> mutates,
                         Device device) {
  return violation([&](const Var& done) {
    mutates.push_back(done);
    Engine::get().push(std::move(body), reads, mutates, {.device = device, .name = "scale"});
  });
}

TEST_CASE("an operation that touches an array that it does not declare fails") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::ones({4}, device);
    const auto read = [array] { array.data<const float>(); };
    const auto write = [array] { array.data<float>()[0] = 2; };
    CHECK_THAT(violation_of(read, {}, {}, device), Contains("does not declare"));
    CHECK_THAT(violation_of(write, {}, {}, device), Contains("does not declare"));
    CHECK(array.to_vector<float>() == std::vector<float>(4, 1));
  }
}

TEST_CASE("an operation that writes an array that it declares for reading only fails") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::ones({4}, device);
    const auto write = [array] { array.data<float>()[3] = 2; };
    CHECK_THAT(violation_of(write, {array.var()}, {}, device),
               Contains("has written") && Contains("for reading only"));
    const auto address = [array] { ArrayAccess::address(array); };
    CHECK_THAT(violation_of(address, {array.var()}, {}, device),
               Contains("writes") && Contains("for reading only"));
  }
}

TEST_CASE("a violation names the operation, the variable and what was declared") {
  const NDArray array = NDArray::ones({4}, Device::cpu());
  const NDArray other = NDArray::ones({4}, Device::cpu());
  const std::string text =
      violation_of([array] { array.data<float>(); }, {other.var()}, {}, Device::cpu());
  CHECK_THAT(text, Contains("operation 'scale' #"));
  CHECK_THAT(text, Contains("the array of variable '" + array.var().name() + "'"));
  CHECK_THAT(text, Contains("it reads '" + other.var().name() + "' and mutates 'done'"));
}

TEST_CASE("an operation that touches what it declares passes the check") {
  for (const Device device : devices()) {
    const NDArray from = NDArray::ones({4}, device);
    const NDArray to = NDArray::zeros({4}, device);
    const auto add = [from, to] {
      for (int i = 0; i < 4; ++i) to.data<float>()[i] += from.data<const float>()[i];
    };
    CHECK(violation_of(add, {from.var()}, {to.var()}, device) == "");
    CHECK(violation_of(add, {from.var(), to.var()}, {to.var()}, device) == "");
    CHECK(to.to_vector<float>() == std::vector<float>(4, 2));
  }
}

TEST_CASE("reading through data<T>() what is declared for reading passes the check") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::ones({4}, device);
    float sum = 0;
    const auto read = [array, &sum] {
      for (int i = 0; i < 4; ++i) sum += array.data<float>()[i];
    };
    CHECK(violation_of(read, {array.var()}, {}, device) == "");
    CHECK(sum == 4);
  }
}

TEST_CASE("views are checked by the variable that they share") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::ones({4, 2}, device);
    const NDArray row = array.at(2);
    const auto write = [row] { row.data<float>()[1] = 2; };
    CHECK(violation_of(write, {}, {array.var()}, device) == "");
    CHECK_THAT(violation_of(write, {}, {}, device),
               Contains("the array of variable '" + array.var().name() + "'"));
    const auto rewrite = [row] { row.data<float>()[0] = 3; };
    CHECK_THAT(violation_of(rewrite, {array.var()}, {}, device), Contains("has written"));
  }
}

TEST_CASE("a violation that the operation catches makes it fail all the same") {
  const NDArray array = NDArray::ones({4}, Device::cpu());
  const auto hide = [array] {
    try {
      array.data<const float>();
    } catch (const AccessViolation&) {
    }
  };
  CHECK_THAT(violation_of(hide, {}, {}, Device::cpu()), Contains("does not declare"));
}

TEST_CASE("what an operation throws itself is its error, whatever it has written") {
  const NDArray array = NDArray::ones({4}, Device::cpu());
  const Var done = Engine::get().new_variable();
  Engine::get().push(
      [array] {
        array.data<float>()[0] = 2;
        throw std::runtime_error("its own");
      },
      {array.var()}, {done});
  CHECK_THROWS_WITH(Engine::get().wait_for_var(done), Contains("its own"));
}

TEST_CASE("the callable of an asynchronous operation is checked") {
  const NDArray array = NDArray::ones({4}, Device::cpu());
  const auto push = [&array](bool declares) {
    return violation([&array, declares](const Var& done) {
      std::vector<Var> reads;
      if (declares) reads.push_back(array.var());
      Engine::get().push_async(
          [array](RunContext&, Completion completion) {
            array.data<const float>();
            completion.done();
          },
          reads, {done}, {.name = "async"});
    });
  };
  CHECK(push(true) == "");
  CHECK_THAT(push(false), Contains("operation 'async' #") && Contains("does not declare"));
}

TEST_CASE("after a wait an array on the CPU may be touched outside of operations") {
  const NDArray array = NDArray::ones({4}, Device::cpu());
  array.wait_to_write();
  array.data<float>()[0] = 2;
  CHECK(array.data<const float>()[0] == 2);
}

TEST_CASE("an array may be made from values inside an operation") {
  for (const Device device : devices()) {
    NDArray made;
    const auto make = [&made, device] { made = NDArray::from<int>({1, 2}, {2}, device); };
    CHECK(violation_of(make, {}, {}, device) == "");
    CHECK(made.to_vector<int>() == std::vector<int>{1, 2});
  }
}

TEST_CASE("operations of other engines, which cannot declare an array, are not checked") {
  const NDArray array = NDArray::ones({4}, Device::cpu());
  array.wait_to_write();
  Engine other({.access_check = true});
  const Var x = other.new_variable();
  other.push([array] { array.data<float>()[0] = 2; }, {}, {x});
  CHECK_NOTHROW(other.wait_for_var(x));
  CHECK(array.to_vector<float>()[0] == 2);
}

TEST_CASE("what runs at the end of a variable is checked") {
  const NDArray array = NDArray::ones({4}, Device::cpu());
  array.wait_to_write();
  const Var tag = Engine::get().new_variable();
  Engine::get().delete_variable(tag, [array] { array.data<const float>(); });
  CHECK_THROWS_AS(Engine::get().wait_for_all(), AggregateError);
}

}  // namespace
}  // namespace heddle
