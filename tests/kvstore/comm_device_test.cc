#include "kvstore/comm_device.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::kvstore {
namespace {

std::vector<Device> both() { return {Device::gpu(0), Device::gpu(1)}; }

std::vector<Device> owners(const std::vector<Part>& parts) {
  std::vector<Device> devices;
  for (const Part& part : parts) devices.push_back(part.device);
  return devices;
}

TEST_CASE("small values go to the GPU that has least, the first one in doubt") {
  CommDevice comm;
  const auto place = [&](std::int64_t size) { return owners(comm.place(size, 4, both(), true)); };
  CHECK(place(1000) == std::vector{Device::gpu(0)});
  CHECK(place(600) == std::vector{Device::gpu(1)});
  CHECK(place(300) == std::vector{Device::gpu(1)});
  CHECK(place(200) == std::vector{Device::gpu(1)});
  CHECK(place(10) == std::vector{Device::gpu(0)});
}

TEST_CASE("a big value is divided among the GPUs") {
  CommDevice comm;
  const std::vector<Part> parts = comm.place(200705, 4, both(), true);
  REQUIRE(owners(parts) == both());
  CHECK(parts[0].begin == 0);
  CHECK(parts[1].begin == parts[0].size);
  CHECK(parts[0].begin % 64 == 0);
  CHECK(parts[1].begin % 64 == 0);
  CHECK(parts[0].size + parts[1].size == 200705);
  CHECK(std::abs(parts[0].size - parts[1].size) <= 64);
}

TEST_CASE("a value that must stay whole does") {
  CommDevice comm;
  const std::vector<Part> parts = comm.place(1 << 20, 4, both(), false);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].size == 1 << 20);
}

TEST_CASE("only the GPUs of the push own a value, each once") {
  CommDevice comm;
  const std::vector<Device> devices = {Device::cpu(), Device::gpu(1), Device::gpu(1)};
  CHECK(owners(comm.place(1 << 20, 4, devices, true)) == std::vector{Device::gpu(1)});
}

TEST_CASE("values that only the CPU pushes stay there") {
  CommDevice comm;
  for (const Part& part : comm.place(1 << 20, 4, std::vector{Device::cpu(), Device::cpu()}, true)) {
    CHECK(part.device == Device::cpu());
  }
}

}  // namespace
}  // namespace heddle::kvstore
