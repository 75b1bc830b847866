#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "heddle/ndarray.h"

namespace heddle {
namespace {

std::string text(const NDArray& array) {
  std::ostringstream out;
  out << array;
  return out.str();
}

TEST_CASE("an array is printed as nested lists, with its type and device") {
  CHECK(text(NDArray::from<float>({1, 2.5F, -3, 4}, {2, 2})) ==
        "[[1, 2.5],\n [-3, 4]] float32 cpu(0)");
  CHECK(text(NDArray::arange(0, 8, 1, Device::gpu(1), DType::kInt8).reshape({2, 2, 2})) ==
        "[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]] int8 gpu(1)");
  CHECK(text(NDArray::full({}, 7, Device::cpu(), DType::kInt64)) == "7 int64 cpu(0)");
  CHECK(text(NDArray::from<bool>({true, false}, {2})) == "[1, 0] bool cpu(0)");
  CHECK(text(NDArray::ones({0, 2})) == "[] float32 cpu(0)");
  CHECK(text(NDArray{}) == "NDArray{}");
}

TEST_CASE("the long axes of a long array are shortened when printed") {
  CHECK(text(NDArray::arange(0, 1001, 1, Device::cpu(), DType::kInt32)) ==
        "[0, 1, 2, ..., 998, 999, 1000] int32 cpu(0)");
}

}  // namespace
}  // namespace heddle
