#include <cstdint>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

namespace heddle {
namespace {

TEST_CASE("arrays and operators tell the model clock what they cost") {
  configure({.gpus = "sim:2@p3.16xlarge", .engine = {.trace = true}});
  const NDArray a = NDArray::ones({256, 512});
  const NDArray b = NDArray::ones({512, 128}, Device::gpu(0));
  const NDArray product = dot(a.to(Device::gpu(0)), b);
  const NDArray shifted = product + 1.0F;
  shifted.wait_to_read();
  random::uniform(0, 1, {1 << 20}, Device::gpu(1)).wait_to_read();
  random::permutation(1000, Device::cpu()).wait_to_read();
  sgd_update(shifted, product, 0.1);
  shifted.wait_to_read();
  std::map<std::string, std::int64_t> cost;
  for (const OpRecord& record : Engine::get().trace()) {
    cost[record.name] = record.modelled_end - record.modelled_start;
  }
  CHECK(cost.at("copy") == 10000 + 45590);  // 512 KiB at 11.5 GB/s
  CHECK(cost.at("dot") == 3000 + 2137);     // 2 * 256 * 128 * 512 flops at 15.7 TFLOP/s
  CHECK(cost.at("add") == 3000 + 291);      // 256 KiB at 900 GB/s

  CHECK(cost.at("uniform") == 3000 + 4660);    // 4 MiB
  CHECK(cost.at("permutation") == 4000);       // 40 kB at 10 GB/s
  CHECK(cost.at("sgd_update") == 3000 + 437);  // three times 128 KiB
}

}  // namespace
}  // namespace heddle
