#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

namespace heddle {
namespace {

TEST_CASE("a pipeline tells the model clock what it reads, transforms and copies") {
  configure({.gpus = "sim:1?h2d=1GB/s", .engine = {.trace = true}});
  const io::Source source = io::in_memory(NDArray::ones({100, 1000}), NDArray::zeros({100}));
  io::PipelineOptions options;
  options.batch_size = 50;
  options.shuffle = true;
  options.prefetch = 1;
  options.devices = {Device::gpu(0)};
  options.transforms = {[](io::Sample&) {}};
  io::Pipeline pipeline(source, options);
  const auto batch = pipeline.next();
  batch->data.wait_to_read();
  Engine::get().wait_for_all();
  std::map<std::string, std::int64_t> longest;
  for (const OpRecord& record : Engine::get().trace()) {
    std::int64_t& cost = longest[record.name];
    cost = std::max(cost, record.modelled_end - record.modelled_start);
  }
  // On a core with 10 GB/s; the last is 200 kB over the link.
  CHECK(longest.at("io.shuffle") == 160);
  CHECK(longest.at("io.assemble") == 2 * 2 * 4 * 50 * 1001 / 10);
  CHECK(longest.at("copy") == 200'000);
}

}  // namespace
}  // namespace heddle
