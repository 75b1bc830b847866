// Blocks of device memory that the pool has, taken by one thread, beside CUDA's own pool.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>

#include <heddle/heddle.h>

#include "engine/device/backend.h"
#include "gpu/by_hand/cuda_device.h"
#include "gpu/questions.h"
#include "overlap/by_hand/cuda_check.h"

namespace bench::gpu {
namespace {

using overlap::by_hand::check;

/// Takes some blocks and gives them back, again and again.
class Blocks {
 public:
  Blocks(std::string contender, std::function<void*()> take, std::function<void(void*)> give_back)
      : contender_(std::move(contender)),
        take_(std::move(take)),
        give_back_(std::move(give_back)) {}

  enum class What : std::uint8_t { kTake, kGiveBack };

  /// ns per block.
  double measure(What what) {
    double taking = 0;
    double giving_back = 0;
    for (int round = 0; round < kRounds; ++round) {
      taking += microseconds([&] {
        for (void*& block : blocks_) block = take_();
      });
      if (round == 0) expect_different();
      giving_back += microseconds([&] {
        for (void* const block : blocks_) give_back_(block);
      });
    }
    const double us = what == What::kTake ? taking : giving_back;
    return us * 1e3 / static_cast<double>(kRounds * blocks_.size());
  }

 private:
  static constexpr int kRounds = 200;

  void expect_different() const {
    std::vector<void*> sorted = blocks_;
    std::sort(sorted.begin(), sorted.end());
    const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    expect(!twice && sorted.front() != nullptr, contender_, "blocks");
  }

  const std::string contender_;
  const std::function<void*()> take_;
  const std::function<void(void*)> give_back_;
  std::vector<void*> blocks_{64};
};

Blocks blocks_of_heddle(std::size_t bytes) {
  heddle::device::Backend& gpu = heddle::device::backend_of(heddle::Device::gpu(0));
  return {kHeddle, [&gpu, bytes] { return gpu.allocate(bytes); },
          [&gpu, bytes](void* block) { gpu.deallocate(block, bytes); }};
}

Blocks blocks_of_cuda(std::size_t bytes, cudaStream_t stream) {
  return {kByHand,
          [bytes, stream] {
            void* block = nullptr;
            check(cudaMallocAsync(&block, bytes, stream), "cudaMallocAsync");
            return block;
          },
          [stream](void* block) { check(cudaFreeAsync(block, stream), "cudaFreeAsync"); }};
}

std::uint64_t misses() { return heddle::memory_statistics(heddle::Device::gpu(0)).misses; }

void measure(std::size_t bytes, const std::string& size, const Settings& settings, Sheet& sheet) {
  const by_hand::Stream stream;
  Blocks pool = blocks_of_heddle(bytes);
  Blocks cuda = blocks_of_cuda(bytes, stream.handle());
  pool.measure(Blocks::What::kTake);  // the pool has what it needs from now on
  const std::uint64_t before = misses();
  for (const auto& [what, metric, target] :
       {std::tuple(Blocks::What::kTake, "ns to take one", std::optional(at_most(100))),
        std::tuple(Blocks::What::kGiveBack, "ns to give one back", std::optional<Target>())}) {
    const std::vector<Row> rows =
        race("blocks of " + size + " that the pool has", metric,
             {{kHeddle, [&, what = what] { return pool.measure(what); }},
              {"cudaMallocAsync", [&, what = what] { return cuda.measure(what); }}},
             settings.runs);
    sheet.add(rows[0], target);
    sheet.add(rows[1]);
  }
  expect(misses() == before, kHeddle, "the pool did not have every block");
}

}  // namespace

void blocks(const Settings& settings, Sheet& sheet) {
  measure(std::size_t{4} << 10U, "4 KiB", settings, sheet);
  measure(std::size_t{1} << 20U, "1 MiB", settings, sheet);
}

}  // namespace bench::gpu
