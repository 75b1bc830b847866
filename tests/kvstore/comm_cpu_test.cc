#include "kvstore/comm_cpu.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

namespace heddle::kvstore {
namespace {

TEST_CASE("every value is kept in pinned memory") {
  CommCpu comm;
  CHECK(comm.home(Device::gpu(1)) == Device::cpu_pinned());
  for (const Part& part : comm.place(1 << 20, 4, std::vector{Device::gpu(0)}, true)) {
    CHECK(part.device == Device::cpu_pinned());
  }
}

TEST_CASE("a big value is divided among the workers of the CPU, a small one is not") {
  CommCpu comm;
  const auto workers = static_cast<std::size_t>(Engine::get().options().cpu_workers);
  CHECK(comm.place(1 << 24, 4, std::vector{Device::gpu(0)}, true).size() == workers);
  CHECK(comm.place(1 << 24, 4, std::vector{Device::gpu(0)}, false).size() == 1);
  CHECK(comm.place(1000, 4, std::vector{Device::gpu(0)}, true).size() == 1);
  CHECK(comm.place(0, 4, std::vector{Device::gpu(0)}, true).size() == 1);
}

TEST_CASE("what the part's memory holds is read in place, the rest through buffers") {
  CommCpu comm;
  const NDArray here = NDArray::from<float>({1, 2, 3}, {3}, Device::cpu());
  const NDArray there = NDArray::from<float>({4, 5, 6}, {3}, Device::gpu(0));
  std::vector<NDArray> buffers;
  const Part part{1, 2, Device::cpu_pinned()};
  const std::vector<const NDArray*> values = {&here, &there};

  const std::vector<NDArray> inputs = comm.gather(part, values, buffers, 0);
  REQUIRE(inputs.size() == 2);
  CHECK(inputs[0].var() == here.var());
  CHECK(inputs[0].to_vector<float>() == std::vector<float>{2, 3});
  CHECK(inputs[1].device() == Device::cpu_pinned());
  CHECK(inputs[1].to_vector<float>() == std::vector<float>{5, 6});

  SECTION("the same ones the next time") {
    CHECK(comm.gather(part, values, buffers, 0)[1].var() == inputs[1].var());
  }
}

}  // namespace
}  // namespace heddle::kvstore
