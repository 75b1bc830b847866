#include "engine/device/sim_device.h"

#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"

#include "engine/base/asan.h"
#include "tests/engine/device/stream_fixture.h"

namespace heddle::device {
namespace {

using Catch::Matchers::Contains;

/// The simulated GPUs 0 and 1 of a machine with unlimited links.
struct TwoGpus {
  std::shared_ptr<SimLinks> links =
      std::make_shared<SimLinks>(std::vector<LogicalGpu>(2, SimSpec{}));
  SimDevice first{0, SimSpec{}, links};
  SimDevice second{1, SimSpec{}, links};
};

TEST_CASE("a simulated GPU keeps the host away from its memory and runs the CPU's kernels") {
  TwoGpus gpus;
  CHECK_FALSE(gpus.first.host_accessible());
  CHECK(gpus.first.runs_cpu_kernels());
}

TEST_CASE("a simulated GPU is described by its number and preset") {
  TwoGpus gpus;
  CHECK(gpus.second.description() == "simulated GPU 1");
  SimSpec spec;
  spec.preset = "p3.16xlarge";
  CHECK(SimDevice(0, spec, gpus.links).description() == "simulated GPU 0 of p3.16xlarge");
}

TEST_CASE("bytes survive the way host, GPU, other GPU, host") {
  TwoGpus gpus;
  const std::vector<char> sent(10'000, 'x');
  std::vector<char> received(sent.size(), ' ');
  void* a = gpus.first.allocate(sent.size());
  void* b = gpus.second.allocate(sent.size());
  gpus.first.open(a, sent.size());
  gpus.second.open(b, sent.size());
  gpus.first.copy(a, Device::gpu(0), sent.data(), Device::cpu(), sent.size());
  gpus.second.copy(b, Device::gpu(1), a, Device::gpu(0), sent.size());
  gpus.second.copy(received.data(), Device::cpu(), b, Device::gpu(1), sent.size());
  gpus.first.close(a, sent.size());
  gpus.second.close(b, sent.size());
  gpus.first.deallocate(a, sent.size());
  gpus.second.deallocate(b, sent.size());
  CHECK(received == sent);
}

TEST_CASE("a copy of nothing is allowed") {
  TwoGpus gpus;
  void* block = gpus.first.allocate(0);
  REQUIRE(block != nullptr);
  CHECK_NOTHROW(gpus.first.copy(block, Device::gpu(0), nullptr, Device::cpu(), 0));
  gpus.first.deallocate(block, 0);
}

TEST_CASE("a simulated GPU has as much memory as its spec says") {
  SimSpec spec;
  spec.memory = std::size_t{1} << 20U;
  const auto links = std::make_shared<SimLinks>(std::vector<LogicalGpu>{spec});
  SimDevice gpu(0, spec, links);
  void* block = gpu.allocate(spec.memory);
  CHECK_THROWS_WITH(gpu.allocate(1), Contains("gpu(0)") && Contains("out of memory"));
  gpu.deallocate(block, spec.memory);
}

TEST_CASE("every lane of a simulated GPU has streams") {
  TwoGpus gpus;
  ThreadExecutor executor(1);
  for (const Lane lane : {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm}) {
    const std::unique_ptr<Stream> stream = gpus.first.make_stream(lane, executor);
    REQUIRE(stream != nullptr);
    drain(*stream);
  }
}

TEST_CASE("compute and brief work runs on the executor, other copies on a thread of their own") {
  TwoGpus gpus;
  ThreadExecutor executor(1);
  std::thread::id executor_thread;
  const auto thread_of = [](Stream& stream, bool brief) {
    std::thread::id id;
    Work work = make_work([&id] { id = std::this_thread::get_id(); });
    work.brief = brief;
    stream.issue(work, {});
    drain(stream);
    return id;
  };
  const auto first = gpus.first.make_stream(Lane::kCompute, executor);
  const auto second = gpus.second.make_stream(Lane::kCompute, executor);
  const auto copy = gpus.first.make_stream(Lane::kCopyIn, executor);
  executor_thread = thread_of(*first, false);
  CHECK(thread_of(*second, false) == executor_thread);
  CHECK(thread_of(*copy, false) != executor_thread);
  CHECK(thread_of(*copy, true) == executor_thread);
}

TEST_CASE("a simulated GPU reads what it has an unlimited link from") {
  SimSpec slow_peers;
  slow_peers.peer.bytes_per_second = 1e9;
  const auto slow = std::make_shared<SimLinks>(std::vector<LogicalGpu>(2, slow_peers));
  const SimDevice gpu(0, slow_peers, slow);
  CHECK(gpu.reads(Device::cpu()));
  CHECK(gpu.reads(Device::gpu(0)));
  CHECK_FALSE(gpu.reads(Device::gpu(1)));
  CHECK(TwoGpus().first.reads(Device::gpu(1)));
}

#if defined(HEDDLE_ASAN)
TEST_CASE("under AddressSanitizer a block is poisoned unless an operation has it open") {
  TwoGpus gpus;
  auto* block = static_cast<char*>(gpus.first.allocate(101));
  CHECK(base::is_poisoned(block));
  gpus.first.open(block, 101);
  CHECK_FALSE(base::is_poisoned(block));
  CHECK_FALSE(base::is_poisoned(block + 100));
  CHECK(base::is_poisoned(block + 101));
  gpus.first.open(block, 101);
  gpus.first.close(block, 101);
  CHECK_FALSE(base::is_poisoned(block));
  gpus.first.close(block, 101);
  CHECK(base::is_poisoned(block));
  CHECK(base::is_poisoned(block + 100));
  gpus.first.deallocate(block, 101);
}
#endif

}  // namespace
}  // namespace heddle::device
