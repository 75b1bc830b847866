#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "ndarray/array_access.h"
#include "tests/ndarray/arrays.h"

namespace heddle {
namespace {

using support::devices;
using support::refusal;

TEST_CASE("an operation reads and writes elements through data()") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::from<int>({1, 2, 3}, {3}, device);
    Engine::get().push(
        [array] {
          for (int i = 0; i < 3; ++i) array.data<int>()[i] *= 10;
        },
        {}, {array.var()}, {.device = device});
    CHECK(array.to_vector<int>() == std::vector<int>{10, 20, 30});
  }
}

TEST_CASE("data() of a view is its own first element") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::arange(0, 6, 1, device, DType::kInt64).reshape({3, 2});
    const NDArray row = array.at(2);
    Engine::get().push([row] { row.data<std::int64_t>()[1] = 50; }, {}, {array.var()},
                       {.device = device});
    CHECK(array.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 2, 3, 4, 50});
  }
}

TEST_CASE("what an operation touches is compared with what it declares only if asked for") {
  CHECK_FALSE(EngineOptions().access_check);
  const NDArray array = NDArray::ones({3}, Device::cpu());
  array.wait_to_write();
  const Var done = Engine::get().new_variable();
  Engine::get().push([array] { array.data<float>()[0] = 2; }, {}, {done});
  const bool fails = support::failed_operation([&] { Engine::get().wait_for_var(done); }) != "";
  CHECK(fails == Engine::get().options().access_check);
}

TEST_CASE("after a wait the host reads an array on the CPU through data()") {
  const NDArray array = NDArray::from<double>({0.5, 1.5}, {2}, Device::cpu_pinned());
  array.wait_to_read();
  CHECK(array.data<double>()[1] == 1.5);
}

TEST_CASE("data() of an array on a GPU is refused outside of operations") {
  const NDArray array = NDArray::ones({2}, Device::gpu(1));
  array.wait_to_read();
  std::string text;
  try {
    array.data<float>();
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(text ==
        "[data] array on gpu(1) outside of an operation: its elements are open to operations only; "
        "to_vector() reads them");
}

TEST_CASE("elements are reached under their own type only") {
  const NDArray array({2});
  CHECK(refusal([&] { array.data<double>(); }) ==
        "[data] type float64 for an array of float32: expected equal types; astype() converts");
  CHECK(refusal([&] { array.to_vector<int>(); }) ==
        "[to_vector] type int32 for an array of float32: expected equal types; astype() converts");
  CHECK(refusal([&] { NDArray({1}).item<float16>(); }) ==
        "[item] type float16 for an array of float32: expected equal types; astype() converts");
  CHECK_THROWS_AS(NDArray::zeros({1}, Device::cpu(), DType::kUInt8).item<std::int8_t>(),
                  std::invalid_argument);
}

TEST_CASE("the elements of a bool array are std::uint8_t") {
  const NDArray array = NDArray::from<bool>({true, false}, {2}, Device::cpu());
  array.wait_to_read();
  CHECK(array.data<std::uint8_t>()[0] == 1);
}

TEST_CASE("ArrayAccess gives the address whatever the type") {
  const NDArray array = NDArray::zeros({4}, Device::cpu(), DType::kFloat16).slice(1, 3);
  array.wait_to_read();
  CHECK(ArrayAccess::address(array) == array.data<float16>());
}

}  // namespace
}  // namespace heddle
