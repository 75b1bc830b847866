#include "engine/device/cpu.h"

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"

#include "tests/engine/device/stream_fixture.h"

namespace heddle::device {
namespace {

TEST_CASE("the CPU's memory is open to the host and has no streams") {
  Backend& cpu = backend_of(Device::cpu());
  ThreadExecutor executor(1);
  CHECK(cpu.host_accessible());
  CHECK(cpu.runs_cpu_kernels());
  CHECK(cpu.make_stream(Lane::kCompute, executor) == nullptr);
}

TEST_CASE("the CPU reads host memory where it lies, and that of GPUs not") {
  CHECK(backend_of(Device::cpu()).reads(Device::cpu_pinned()));
  CHECK_FALSE(backend_of(Device::cpu()).reads(Device::gpu(0)));
}

TEST_CASE("every CPU device and pinned memory share one backend") {
  CHECK(&backend_of(Device::cpu(0)) == &backend_of(Device::cpu(3)));
  CHECK(&backend_of(Device::cpu(0)) == &backend_of(Device::cpu_pinned(0)));
}

TEST_CASE("the CPU copies between host blocks and forwards what concerns a GPU") {
  Backend& cpu = backend_of(Device::cpu());
  Backend& gpu = backend_of(Device::gpu(0));
  std::vector<int> sent(1000, 7);
  std::vector<int> received(1000, 0);
  const std::size_t bytes = sent.size() * sizeof(int);
  void* block = gpu.allocate(bytes);
  gpu.open(block, bytes);
  cpu.copy(block, Device::gpu(0), sent.data(), Device::cpu(), bytes);
  cpu.copy(received.data(), Device::cpu(), block, Device::gpu(0), bytes);
  gpu.close(block, bytes);
  gpu.deallocate(block, bytes);
  CHECK(received == sent);
}

TEST_CASE("more memory than the machine has is out of memory") {
  CHECK_THROWS_AS(backend_of(Device::cpu()).allocate(physical_memory() + 1), OutOfMemory);
}

}  // namespace
}  // namespace heddle::device
