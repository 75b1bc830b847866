#include "ndarray/storage.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/ndarray/arrays.h"
#include "tests/support/forked_child.h"
#include "tests/support/gate.h"

namespace heddle {
namespace {

using support::devices;

/// The number of operations pushed by `use`.
template <class Use>
std::uint64_t operations_of(Use use) {
  Engine& engine = Engine::get();
  engine.wait_for_all();
  const Var counter = engine.new_variable();
  const std::uint64_t first = engine.push([] {}, {}, {counter});
  use();
  return engine.push([] {}, {}, {counter}) - first - 1;
}

TEST_CASE("an array that is never used costs no operation") {
  for (const Device device : devices()) {
    CHECK(operations_of([device] { NDArray({1000, 1000}, device); }) == 0);
  }
}

TEST_CASE("the memory of a used array is given back by one operation") {
  for (const Device device : devices()) {
    const auto use = [device] {
      const NDArray array = NDArray::ones({10}, device);
      const NDArray view = array.slice(2, 4);
      array.wait_to_read();
    };
    CHECK(operations_of(use) == 2);
  }
}

TEST_CASE("memory is taken on first use") {
  const std::int64_t far_too_much = std::int64_t{1} << 50;
  for (const Device device : devices()) CHECK_NOTHROW(NDArray({far_too_much}, device));
}

TEST_CASE("operations that use an array first at the same time see one block") {
  for (const Device device : devices()) {
    const NDArray array({16}, device);
    support::Log<float*> addresses;
    std::vector<Var> done;
    for (const Lane lane : {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm}) {
      done.push_back(Engine::get().new_variable());
      Engine::get().push([array, &addresses] { addresses.add(array.data<float>()); }, {array.var()},
                         {done.back()}, {.device = device, .lane = lane});
    }
    for (const Var& var : done) Engine::get().wait_for_var(var);
    const std::vector<float*> seen = addresses.entries();
    REQUIRE(seen.size() == 4);
    CHECK(seen == std::vector<float*>(4, seen.front()));
  }
}

TEST_CASE("an array that is dropped lives until the operations on it have ended") {
  for (const Device device : devices()) {
    NDArray source = NDArray::arange(0, 1000, 1, device, DType::kInt64);
    NDArray result = NDArray::zeros({}, device, DType::kInt64);
    Engine::get().push(
        [source, result] {
          for (int i = 0; i < 1000; ++i) {
            *result.data<std::int64_t>() += source.data<std::int64_t>()[i];
          }
        },
        {source.var()}, {result.var()}, {.device = device});
    source = NDArray();
    CHECK(result.item<std::int64_t>() == 999 * 1000 / 2);
  }
}

TEST_CASE("the last handle may be dropped inside an operation") {
  for (const Device device : devices()) {
    auto holder = std::make_shared<NDArray>(NDArray::ones({100}, device));
    holder->wait_to_read();
    const Var done = Engine::get().new_variable();
    Engine::get().push(
        [holder] {
          holder->data<float>()[0] = 2;
          *holder = NDArray();
        },
        {}, {done, holder->var()}, {.device = device});
    CHECK_NOTHROW(Engine::get().wait_for_var(done));
    CHECK_NOTHROW(Engine::get().wait_for_all());
  }
}

TEST_CASE("a device without memory fails the operation that needs it and no other") {
  const std::int64_t far_too_much = std::int64_t{1} << 50;
  for (const Device device : devices()) {
    const NDArray array = NDArray::zeros({far_too_much}, device, DType::kInt8);
    std::exception_ptr cause;
    try {
      array.wait_to_read();
    } catch (const OpError& error) {
      CHECK(error.op_name() == "zeros");
      cause = error.cause();
    }
    REQUIRE(cause != nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(cause), OutOfMemory);
    CHECK(NDArray::ones({1}, device).item<float>() == 1);
  }
}

TEST_CASE("memory that is given back is used again") {
  const std::int64_t size = std::int64_t{1} << 20;
  for (const Device device : devices()) {
    float last = 0;
    for (int i = 0; i < 200; ++i) last = NDArray::full({size}, i, device).at(-1).item<float>();
    CHECK(last == 199);
  }
}

TEST_CASE("a forked child may drop the arrays that it inherits") {
  NDArray array = NDArray::ones({4}, Device::gpu(0));
  array.wait_to_read();
  support::wait_until_workers_run(Engine::get());
  const pid_t child = fork();
  if (child == 0) {
    array = NDArray();
    _exit(7);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

}  // namespace
}  // namespace heddle
