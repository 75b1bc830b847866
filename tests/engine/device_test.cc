#include "heddle/device.h"

#include <set>
#include <stdexcept>
#include <thread>
#include <unordered_set>

#include <catch2/catch.hpp>

#include "heddle/error.h"
#include "heddle/options.h"

#include "engine/device/backend.h"

namespace heddle {
namespace {

using Catch::Matchers::Contains;

// This program's GPUs; every test of it may rely on them.
const bool g_configured = [] {
  RuntimeOptions options;
  options.gpus = "sim:3";
  configure(options);
  return true;
}();

TEST_CASE("a device says what it is") {
  CHECK(Device::cpu(2).str() == "cpu(2)");
  CHECK(Device::gpu(1).str() == "gpu(1)");
  CHECK(Device::cpu_pinned().str() == "cpu_pinned(0)");
}

TEST_CASE("devices compare by kind and number") {
  CHECK(Device() == Device::cpu(0));
  CHECK(Device::cpu(0) != Device::cpu(1));
  CHECK(Device::cpu(0) != Device::cpu_pinned(0));
  CHECK(Device::gpu(0) < Device::gpu(1));
  CHECK(std::set<Device>{Device::gpu(1), Device::gpu(0), Device::gpu(1)}.size() == 2);
}

TEST_CASE("devices may be kept in a hash table") {
  const std::unordered_set<Device> devices = {Device::gpu(1), Device::cpu(1), Device::cpu_pinned(1),
                                              Device::gpu(1)};
  CHECK(devices.size() == 3);
  CHECK(devices.count(Device::cpu(1)) == 1);
}

TEST_CASE("any CPU number from 0 on is a device") {
  CHECK(Device::cpu(1000).id() == 1000);
  CHECK_THROWS_AS(Device::cpu(-1), std::invalid_argument);
  CHECK_THROWS_AS(Device::cpu_pinned(-1), std::invalid_argument);
}

TEST_CASE("configure decides how many GPUs there are") {
  REQUIRE(g_configured);
  CHECK(num_gpus() == 3);
  CHECK(device::backend_of(Device::gpu(2)).description() == "simulated GPU 2");
}

TEST_CASE("a GPU out of range is an error that names HEDDLE_GPUS and the range") {
  const int id = GENERATE(-1, 3, 1000);
  CHECK_THROWS_AS(Device::gpu(id), std::invalid_argument);
  CHECK_THROWS_WITH(Device::gpu(id), Contains("HEDDLE_GPUS") && Contains("sim:3") &&
                                         Contains(std::to_string(id)) && Contains("0 to 2"));
}

TEST_CASE("the current device belongs to its thread and is cpu(0) at first") {
  CHECK(current_device() == Device::cpu(0));
  set_current_device(Device::gpu(1));
  Device elsewhere = Device::gpu(2);
  std::thread([&elsewhere] { elsewhere = current_device(); }).join();
  CHECK(elsewhere == Device::cpu(0));
  CHECK(current_device() == Device::gpu(1));
  set_current_device(Device::cpu());
}

}  // namespace
}  // namespace heddle
