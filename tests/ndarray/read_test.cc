#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/ndarray/arrays.h"
#include "tests/support/gate.h"

namespace heddle {
namespace {

using support::devices;
using support::failed_operation;
using support::refusal;

TEST_CASE("to_vector returns what the writes pushed before leave") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::zeros({2}, device);
    for (int i = 0; i < 100; ++i) {
      Engine::get().push([array] { array.data<float>()[1] += 1; }, {}, {array.var()},
                         {.device = device});
    }
    CHECK(array.to_vector<float>() == std::vector<float>{0, 100});
  }
}

TEST_CASE("item returns the only element") {
  for (const Device device : devices()) {
    CHECK(NDArray::full({}, 4, device).item<float>() == 4);
    CHECK(NDArray::arange(0, 9, 1, device).reshape({3, 3}).at(1).slice(2, 3).item<float>() == 5);
  }
  CHECK(refusal([] { NDArray::ones({2}).item<float>(); }) ==
        "[item] shape (2): expected one element");
  CHECK(refusal([] { NDArray::ones({0}).item<float>(); }) ==
        "[item] shape (0): expected one element");
}

TEST_CASE("reading leaves the array as it is") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::ones({2}, device);
    array.to_vector<float>();
    array.at(0).item<float>();
    CHECK(Engine::get().version(array.var()) == 1);
  }
}

TEST_CASE("every blocking call throws the error of a poisoned array") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::ones({1}, device);
    support::poison(array);
    CHECK(failed_operation([&] { array.wait_to_read(); }) == "poison");
    CHECK(failed_operation([&] { array.wait_to_write(); }) == "poison");
    CHECK(failed_operation([&] { array.to_vector<float>(); }) == "poison");
    CHECK(failed_operation([&] { array.item<float>(); }) == "poison");
    CHECK(failed_operation([&] { array.reshape({1, 1}).to_vector<float>(); }) == "poison");
  }
}

TEST_CASE("an error that a blocking call threw counts as reported") {
  const NDArray array = NDArray::ones({1}, Device::gpu(0));
  support::poison(array);
  CHECK(failed_operation([&] { array.item<float>(); }) == "poison");
  CHECK_NOTHROW(Engine::get().wait_for_all());
}

TEST_CASE("wait_to_write waits for the reads too") {
  const NDArray array = NDArray::ones({1});
  std::atomic<bool> ended{false};
  Engine::get().push(
      [&ended] {
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
        ended = true;
      },
      {array.var()}, {});
  array.wait_to_write();
  CHECK(ended);
}

TEST_CASE("a blocking call inside an operation throws ReentrantWait") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::ones({1}, device);
    Engine::get().wait_for_all();  // whatever filling it pushes has its number
    support::Log<std::string> log;
    const auto attempt = [&log](auto wait) {
      try {
        wait();
        log.add("returned");
      } catch (const ReentrantWait&) {
        log.add("ReentrantWait");
      }
    };
    const Var done = Engine::get().new_variable();
    const auto sequence = Engine::get().push(
        [&attempt, array] {
          attempt([&] { array.wait_to_read(); });
          attempt([&] { array.wait_to_write(); });
          attempt([&] { array.to_vector<float>(); });
          attempt([&] { array.item<float>(); });
        },
        {}, {done});
    Engine::get().wait_for_var(done);
    CHECK(log.entries() == std::vector<std::string>(4, "ReentrantWait"));
    CHECK(Engine::get().push([] {}, {}, {done}) == sequence + 1);  // no copy was pushed in vain
  }
}

TEST_CASE("reading an array is not delayed by work that it does not depend on") {
  if (!support::runs_beside_pusher(Engine::get())) return;
  const NDArray array = NDArray::from<float>({1, 2}, {2}, Device::cpu());
  array.wait_to_read();
  std::vector<Var> unrelated;
  std::vector<std::unique_ptr<support::HeldOperation>> held;
  const int workers = Engine::get().options().cpu_workers;
  for (int i = 0; i < workers; ++i) {
    unrelated.push_back(Engine::get().new_variable());
    held.push_back(std::make_unique<support::HeldOperation>(Engine::get(), VarList{},
                                                            VarList{unrelated.back()}));
  }
  CHECK(array.to_vector<float>() == std::vector<float>{1, 2});
}

}  // namespace
}  // namespace heddle
