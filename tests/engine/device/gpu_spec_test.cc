#include "engine/device/gpu_spec.h"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

namespace heddle::device {
namespace {

using Catch::Matchers::Contains;
using std::chrono::microseconds;

SimSpec only_sim(std::string_view text) {
  const GpuSpec spec = parse_gpu_spec(text);
  REQUIRE(spec.gpus.size() == 1);
  return std::get<SimSpec>(spec.gpus[0]);
}

std::string parse_error(const std::string& text) {
  try {
    parse_gpu_spec(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("an empty spec and auto stand for the GPUs there are") {
  CHECK(parse_gpu_spec("").automatic);
  CHECK(parse_gpu_spec("auto").automatic);
}

TEST_CASE("none is no GPU at all") {
  const GpuSpec spec = parse_gpu_spec("none");
  CHECK_FALSE(spec.automatic);
  CHECK(spec.gpus.empty());
}

TEST_CASE("sim:N is N equal GPUs with unlimited links") {
  const GpuSpec spec = parse_gpu_spec("sim:3");
  CHECK(spec.gpus == std::vector<LogicalGpu>(3, SimSpec{}));
}

TEST_CASE("a preset gives link speeds") {
  for (const char* name : {"pcie", "p3.16xlarge", "dgx-a100", "hgx-h100"}) {
    const SimSpec spec = only_sim("sim:1@" + std::string(name));
    CHECK(spec.preset == name);
    CHECK(spec.host_to_device.bytes_per_second > 1e9);
    CHECK(spec.device_to_host == spec.host_to_device);
    CHECK(spec.peer.latency > microseconds(0));
    CHECK(spec.compute.flops_per_second > 1e12);
  }
}

TEST_CASE("options set each direction") {
  const SimSpec spec = only_sim("sim:1?h2d=2.5GB/s&d2h=800MB/s&peer=64KB/s");
  CHECK(spec.host_to_device.bytes_per_second == 2.5e9);
  CHECK(spec.device_to_host.bytes_per_second == 800e6);
  CHECK(spec.peer.bytes_per_second == 64e3);
  CHECK(only_sim("sim:1?h2d=10B/s").host_to_device.bytes_per_second == 10);
}

TEST_CASE("latency is of every link, in microseconds or milliseconds") {
  const SimSpec spec = only_sim("sim:1?latency=10us");
  CHECK(spec.host_to_device.latency == microseconds(10));
  CHECK(spec.device_to_host.latency == microseconds(10));
  CHECK(spec.peer.latency == microseconds(10));
  CHECK(only_sim("sim:1?latency=0.5ms").peer.latency == microseconds(500));
}

TEST_CASE("memory is a size in binary units") {
  CHECK(only_sim("sim:1").memory == std::size_t{8} << 30U);
  CHECK(only_sim("sim:1?memory=2GiB").memory == std::size_t{2} << 30U);
  CHECK(only_sim("sim:1?memory=1.5MiB").memory == std::size_t{3} << 19U);
  CHECK(only_sim("sim:1?memory=64KiB").memory == std::size_t{64} << 10U);
}

TEST_CASE("the GPUs of an item are the first ones of its machine") {
  const GpuSpec spec = parse_gpu_spec("sim:1,sim:4@p3.16xlarge");
  const SimSpec second = std::get<SimSpec>(spec.gpus[2]);
  REQUIRE(second.peers.size() == 4);
  CHECK(second.first == 1);
  CHECK(second.peers[0].bytes_per_second == 23e9);
  CHECK(second.peers[2].bytes_per_second == 46e9);
  CHECK(second.peers[2].latency == second.host_to_device.latency);
}

TEST_CASE("peer= replaces all links between GPUs and latency= is of each") {
  CHECK(only_sim("sim:1@p3.16xlarge?peer=1GB/s").peers.empty());
  const GpuSpec spec = parse_gpu_spec("sim:2@p3.16xlarge?latency=1us");
  CHECK(std::get<SimSpec>(spec.gpus[0]).peers[1] == LinkSpeed{23e9, microseconds(1)});
}

TEST_CASE("speeds of computing are for the model clock") {
  const SimSpec spec = only_sim("sim:1?flops=2TFLOP/s&hbm=900GB/s");
  CHECK(spec.compute.flops_per_second == 2e12);
  CHECK(spec.compute.bytes_per_second == 900e9);
}

TEST_CASE("faults are times and numbers, of each GPU of their item") {
  CHECK(only_sim("sim:1").faults == SimFaultSpec{});
  const GpuSpec spec =
      parse_gpu_spec("sim:2?jitter=50us&fail_alloc=3&fail_launch=4&lost_after=4294967296,sim:1");
  const SimFaultSpec faults = std::get<SimSpec>(spec.gpus[1]).faults;
  CHECK(faults == std::get<SimSpec>(spec.gpus[0]).faults);
  CHECK(faults.jitter == microseconds(50));
  CHECK(faults.fail_alloc == 3);
  CHECK(faults.fail_launch == 4);
  CHECK(faults.lost_after == std::uint64_t{1} << 32U);
  CHECK(std::get<SimSpec>(spec.gpus[2]) == SimSpec{});
  CHECK(only_sim("sim:1@pcie?jitter=0.5ms").faults.jitter == microseconds(500));
}

TEST_CASE("a name with a slash is the path of a topology file") {
  const support::TemporaryFolder folder;
  const std::string path = folder.write("two", "host 1GB/s\ngpu - 2GB/s\ngpu 2GB/s -\n");
  const GpuSpec spec = parse_gpu_spec("sim:2@" + path);
  CHECK(std::get<SimSpec>(spec.gpus[0]).host_to_device.bytes_per_second == 1e9);
  CHECK(std::get<SimSpec>(spec.gpus[0]).peers[1].bytes_per_second == 2e9);
  CHECK_THAT(parse_error("sim:3@" + path), Contains("has 2 GPUs"));
}

TEST_CASE("a topology file in which something is wrong is one error that names it") {
  const support::TemporaryFolder folder;
  const std::string path = folder.write("bad", "gpu - 1GB/s\ngpu 2GB/s -\n");
  const std::string message = parse_error("sim:2@" + path);
  CHECK_THAT(message,
             Contains("HEDDLE_GPUS") && Contains(path) && Contains("symmetric") && !Contains("\n"));
  CHECK_THAT(parse_error("sim:2@./no/such/file"), Contains("cannot be read"));
  CHECK(parse_gpu_spec("sim:2").gpus.size() == 2);
}

TEST_CASE("options win over the preset") {
  const SimSpec spec = only_sim("sim:1@pcie?latency=1us");
  CHECK(spec.peer.latency == microseconds(1));
  CHECK(spec.peer.bytes_per_second > 1e9);
}

TEST_CASE("cuda:I names a real GPU, several times if wanted") {
  const GpuSpec spec = parse_gpu_spec("cuda:0,cuda:0,cuda:3");
  CHECK(spec.gpus == std::vector<LogicalGpu>{CudaSpec{0}, CudaSpec{0}, CudaSpec{3}});
}

TEST_CASE("a list mixes kinds in its order") {
  const GpuSpec spec = parse_gpu_spec("sim:2?h2d=1GB/s,cuda:1,sim:1@pcie");
  REQUIRE(spec.gpus.size() == 4);
  CHECK(std::get<SimSpec>(spec.gpus[1]).host_to_device.bytes_per_second == 1e9);
  CHECK(std::get<CudaSpec>(spec.gpus[2]).index == 1);
  CHECK(std::get<SimSpec>(spec.gpus[3]).preset == "pcie");
}

TEST_CASE("a spec that does not parse is one line that quotes it and says what was expected") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"gpu", "sim:COUNT"},
      {"AUTO", "sim:COUNT"},
      {" sim:2", "sim:COUNT"},
      {"sim", "1 to 64"},
      {"sim:", "1 to 64"},
      {"sim:0", "1 to 64"},
      {"sim:-1", "1 to 64"},
      {"sim:two", "1 to 64"},
      {"sim:2 ", "1 to 64"},
      {"sim:65", "1 to 64"},
      {"sim:99999999999999999999", "1 to 64"},
      {"sim:40,sim:40", "at most 64"},
      {"sim:2,", "sim:COUNT"},
      {",sim:2", "sim:COUNT"},
      {"sim:2,,sim:2", "sim:COUNT"},
      {"sim:2,none", "stand alone"},
      {"auto,sim:2", "stand alone"},
      {"cuda", "cuda:INDEX"},
      {"cuda:", "cuda:INDEX"},
      {"cuda:-1", "cuda:INDEX"},
      {"cuda:x", "cuda:INDEX"},
      {"sim:2@", "pcie, p3.16xlarge, dgx-a100, hgx-h100"},
      {"sim:2@p4", "pcie, p3.16xlarge, dgx-a100, hgx-h100"},
      {"sim:2?", "h2d=SPEED"},
      {"sim:2?h2d=1GB/s&", "h2d=SPEED"},
      {"sim:2?speed=1GB/s", "h2d=SPEED"},
      {"sim:2?h2d", "h2d=SPEED"},
      {"sim:2?h2d=", "h2d=SPEED"},
      {"sim:2?h2d=1", "h2d=SPEED"},
      {"sim:2?h2d=1GiB/s", "h2d=SPEED"},
      {"sim:2?h2d=0GB/s", "h2d=SPEED"},
      {"sim:2?h2d=-1GB/s", "h2d=SPEED"},
      {"sim:2?h2d=nanGB/s", "h2d=SPEED"},
      {"sim:2?h2d=infGB/s", "h2d=SPEED"},
      {"sim:2?d2h=1e300GB/s", "to 1000000GB/s"},
      {"sim:2?peer=fast", "peer=SPEED"},
      {"sim:2?latency=10", "latency=TIME"},
      {"sim:2?latency=10s", "latency=TIME"},
      {"sim:2?latency=-1us", "latency=TIME"},
      {"sim:2?latency=1e9ms", "latency=TIME"},
      {"sim:9@hgx-h100", "has 8 GPUs"},
      {"sim:2?flops=1GB/s", "flops=RATE"},
      {"sim:2?flops=1e300TFLOP/s", "at most 1000000TFLOP/s"},
      {"sim:2?hbm=-1GB/s", "hbm=SPEED"},
      {"sim:2?memory=8GB", "memory=SIZE"},
      {"sim:2?memory=0GiB", "from 1KiB"},
      {"sim:2?memory=1e30GiB", "to 1048576GiB"},
      {"sim:2?h2d=1GB/s&h2d=2GB/s", "given twice"},
      {"sim:2?jitter=50", "jitter=TIME"},
      {"sim:2?jitter=-1us", "jitter=TIME"},
      {"sim:2?jitter=11000ms", "jitter=TIME"},
      {"sim:2?fail_alloc", "fail_alloc=N"},
      {"sim:2?fail_alloc=0", "fail_alloc=N"},
      {"sim:2?fail_alloc=3rd", "fail_alloc=N"},
      {"sim:2?fail_launch=-4", "fail_launch=N"},
      {"sim:2?fail_launch=1.5", "fail_launch=N"},
      {"sim:2?lost_after=", "lost_after=N"},
      {"sim:2?lost_after=0", "lost_after=N"},
      {"sim:2?lost_after=99999999999999999999", "lost_after=N"},
      {"sim:2?lost_after=4&lost_after=5", "given twice"},
      {"sim:2?fail_copy=4", "fail_launch=N"},
  }));
  const std::string message = parse_error(text);
  CHECK_THAT(message, Contains("HEDDLE_GPUS") && Contains("\"" + text + "\"") &&
                          Contains(expected) && !Contains("\n"));
}

int two_devices() { return 2; }
int no_devices() { return 0; }

TEST_CASE("auto stands for every CUDA GPU of the machine") {
  CHECK(logical_gpus("auto", two_devices) == std::vector<LogicalGpu>{CudaSpec{0}, CudaSpec{1}});
  CHECK(logical_gpus("", no_devices).empty());
}

TEST_CASE("a CUDA GPU that is not there is an error that names it") {
  CHECK(logical_gpus("cuda:1,cuda:1", two_devices).size() == 2);
  CHECK_THROWS_WITH(logical_gpus("cuda:2", two_devices),
                    Contains("HEDDLE_GPUS") && Contains("cuda:2") && Contains("2 CUDA GPUs"));
  CHECK_THROWS_AS(logical_gpus("sim:1,cuda:0", no_devices), std::invalid_argument);
}

TEST_CASE("simulated GPUs do not ask for CUDA ones") {
  const auto never = []() -> int { throw std::logic_error("asked for CUDA GPUs"); };
  CHECK(logical_gpus("sim:2", never).size() == 2);
  CHECK(logical_gpus("none", never).empty());
}

}  // namespace
}  // namespace heddle::device
