#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

namespace heddle::support {

/// The CPU and a simulated GPU: what a test about arrays holds for.
inline std::vector<Device> devices() { return {Device::cpu(), Device::gpu(0)}; }

/// Every pair of memories that a copy may go between.
inline std::vector<std::pair<Device, Device>> device_pairs() {
  const std::vector<Device> all = {Device::cpu(), Device::cpu_pinned(), Device::gpu(0),
                                   Device::gpu(1)};
  std::vector<std::pair<Device, Device>> pairs;
  for (const Device from : all) {
    for (const Device to : all) pairs.emplace_back(from, to);
  }
  return pairs;
}

/// The text of the std::invalid_argument that `call` throws.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Makes an operation fail that mutates all of `array`.
inline void poison(const NDArray& array) {
  Engine::get().push([] { throw std::runtime_error("spilt"); }, {}, {array.var()},
                     {.name = "poison"});
}

/// The name of the operation whose failure `wait` throws, or "".
template <class Wait>
std::string failed_operation(Wait wait) {
  try {
    wait();
  } catch (const OpError& error) {
    return error.op_name();
  }
  return "";
}

}  // namespace heddle::support

template <>
struct Catch::StringMaker<heddle::Device> {
  static std::string convert(heddle::Device device) { return device.str(); }
};
template <>
struct Catch::StringMaker<heddle::Shape> {
  static std::string convert(const heddle::Shape& shape) { return shape.str(); }
};
template <>
struct Catch::StringMaker<heddle::DType> {
  static std::string convert(heddle::DType dtype) { return heddle::dtype_name(dtype); }
};
