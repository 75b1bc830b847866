#include "engine/device/cuda_early_blocks.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <set>

#include <catch2/catch.hpp>

#include "heddle/cuda.h"
#include "heddle/engine.h"

#include "engine/device/cuda_backend.h"
#include "engine/device/cuda_stream.h"
#include "ndarray/storage.h"
#include "tests/support/fake_cuda_runtime.h"
#include "tests/support/gate.h"

// GPUs 0 and 1 are on one card. Nobody else uses memory of these sizes.

namespace heddle::device {
namespace {

using detail::Storage;
using support::Gate;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

Device gpu() { return Device::gpu(0); }

CudaEarlyBlocks& early_blocks() { return cuda_gpu_of(gpu())->early_blocks(); }

/// A stream that does not go on before `gate` is open; it is opened when a test fails, too.
class HeldStream {
 public:
  explicit HeldStream(Lane lane) {
    Engine::get().push(
        [gate = gate_](const RunContext& context) {
          support::enqueue_on_fake_cuda(cuda_stream(context), [gate] { gate->wait(); });
        },
        {}, {}, {.device = gpu(), .lane = lane});
  }
  ~HeldStream() {
    gate_->open();
    Engine::get().wait_for_all();
  }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

 private:
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

/// Where an operation of `lane` finds a block that goes with it. It is issued when this returns,
/// if what mutates `also` is.
std::byte* use_a_block(std::size_t bytes, Lane lane = Lane::kCompute,
                       const Var& also = Engine::get().new_variable()) {
  Storage storage(gpu(), bytes);
  std::byte* block = nullptr;
  Engine::get().push([&] { block = storage.open(); }, {}, {storage.var(), also},
                     {.device = gpu(), .lane = lane});
  return block;
}

TEST_CASE("operations that are issued ahead of a GPU share the memory of one") {
  HeldStream held(Lane::kCompute);
  std::set<std::byte*> blocks;
  for (int i = 0; i < 30; ++i) blocks.insert(use_a_block(3 * kMiB));
  CHECK(blocks.count(nullptr) == 0);
  CHECK(blocks.size() == 1);
}

TEST_CASE("a block is not used again on a stream that has not seen the work on it") {
  HeldStream held(Lane::kCopyOut);
  std::byte* const first = use_a_block(5 * kMiB, Lane::kCopyOut);
  REQUIRE(first != nullptr);
  CHECK(use_a_block(5 * kMiB) != first);
}

TEST_CASE("a block is used again on a stream that waits for the work on it anyhow") {
  HeldStream held(Lane::kCopyOut);
  const Var copied = Engine::get().new_variable();
  std::byte* const first = use_a_block(7 * kMiB, Lane::kCopyOut, copied);
  REQUIRE(first != nullptr);
  CHECK(use_a_block(7 * kMiB, Lane::kCompute, copied) == first);
}

TEST_CASE("blocks that came back early are the pool's when the work on them is done") {
  {
    HeldStream held(Lane::kCompute);
    const std::size_t before = early_blocks().bytes();
    use_a_block(9 * kMiB);
    CHECK(early_blocks().bytes() == before + 9 * kMiB);
    CHECK(backend_of(gpu()).memory().cached_bytes >= 9 * kMiB);
  }
  CHECK(early_blocks().bytes() == 0);
  const std::byte* const again = use_a_block(9 * kMiB);
  CHECK(again != nullptr);
}

TEST_CASE("without other memory a stream waits for a block and the host does not", "[.]") {
  support::limit_fake_cuda_memory(64 * kMiB);
  std::atomic<bool> has_written{false};
  Storage storage(gpu(), 48 * kMiB);
  {
    HeldStream held(Lane::kCopyOut);
    std::byte* const first = use_a_block(48 * kMiB, Lane::kCopyOut);
    REQUIRE(first != nullptr);
    std::byte* second = nullptr;
    Engine::get().push(
        [&](const RunContext& context) {
          second = storage.open();
          support::enqueue_on_fake_cuda(cuda_stream(context), [&] { has_written = true; });
        },
        {}, {storage.var()}, {.device = gpu()});
    CHECK(second == first);
    CHECK_FALSE(has_written);
  }
  CHECK(has_written);
}

TEST_CASE("without other memory what the GPU is done with is used in any order", "[.]") {
  support::limit_fake_cuda_memory(64 * kMiB);
  HeldStream held(Lane::kCopyOut);
  REQUIRE(use_a_block(24 * kMiB, Lane::kCopyOut) != nullptr);
  const Var done = Engine::get().new_variable();
  REQUIRE(use_a_block(24 * kMiB, Lane::kCompute, done) != nullptr);
  Engine::get().wait_for_var(done);
  CHECK(use_a_block(32 * kMiB, Lane::kComm) != nullptr);
}

TEST_CASE("a block that an operation takes early and gives back itself stays until that is done") {
  HeldStream held(Lane::kCompute);
  std::byte* const early = use_a_block(11 * kMiB);
  std::byte* taken = nullptr;
  Engine::get().push(
      [&] {
        Storage storage(gpu(), 11 * kMiB);
        taken = storage.open();
      },
      {}, {}, {.device = gpu()});
  REQUIRE(taken == early);
  CHECK(use_a_block(11 * kMiB, Lane::kCopyOut) != early);
}

TEST_CASE("an asynchronous operation gets no block on which there is work") {
  HeldStream held(Lane::kCompute);
  std::byte* const early = use_a_block(13 * kMiB);
  std::byte* block = nullptr;
  Storage storage(gpu(), 13 * kMiB);
  Engine::get().push_async(
      [&](RunContext&, Completion completion) {
        block = storage.open();
        completion.done();
      },
      {}, {storage.var()}, {.device = gpu()});
  REQUIRE(block != nullptr);
  CHECK(block != early);
}

TEST_CASE("a block that was taken and came back again stays until its own work is done") {
  MemoryPool& pool = cuda_gpu_of(gpu())->memory();
  CudaEarlyBlocks early(pool);
  void* const block = pool.allocate(kMiB);
  const CudaStream stream(*cuda_gpu_of(gpu()), Lane::kCompute);
  const CudaEarlyBlocks::Ticket first = early.add(block, kMiB, {});
  CHECK(early.take(kMiB, stream) == block);
  const CudaEarlyBlocks::Ticket second = early.add(block, kMiB, {});
  early.settle(first, kMiB);
  CHECK(early.bytes() == kMiB);
  early.settle(second, kMiB);
  CHECK(early.bytes() == 0);
}

TEST_CASE("a block of another size is not taken") {
  MemoryPool& pool = cuda_gpu_of(gpu())->memory();
  CudaEarlyBlocks early(pool);
  const CudaStream stream(*cuda_gpu_of(gpu()), Lane::kCompute);
  const CudaEarlyBlocks::Ticket ticket = early.add(pool.allocate(2 * kMiB), 2 * kMiB, {});
  CHECK(early.take(kMiB, stream) == nullptr);
  early.settle(ticket, 2 * kMiB);
}

}  // namespace
}  // namespace heddle::device
