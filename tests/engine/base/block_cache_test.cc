#include "engine/base/block_cache.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <malloc.h>

namespace heddle::base {
namespace {

TEST_CASE("blocks are aligned and apart from each other") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{65},
                                  std::size_t{640}, std::size_t{641}, std::size_t{5000}}) {
    CAPTURE(bytes);
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) {
      blocks.push_back(allocate_block(bytes));
      std::memset(blocks.back(), i, bytes);
    }
    for (int i = 0; i < 100; ++i) {
      const auto* const block = static_cast<unsigned char*>(blocks[static_cast<std::size_t>(i)]);
      CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
      if (bytes > 0) CHECK((block[0] == i && block[bytes - 1] == i));
    }
    for (void* const block : blocks) deallocate_block(block, bytes);
  }
}

TEST_CASE("blocks may be given back by another thread, and that thread may end") {
  constexpr std::size_t kBytes = 128;
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(allocate_block(kBytes));
    std::thread([&blocks] {
      for (void* const block : blocks) deallocate_block(block, kBytes);
    }).join();
  }
  // What the ended threads gave back is whole: no block is handed out twice.
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(allocate_block(kBytes));
  CHECK(std::set<void*>(blocks.begin(), blocks.end()).size() == blocks.size());
  for (void* const block : blocks) deallocate_block(block, kBytes);
}

TEST_CASE("threads that come and go leave nothing behind but blocks for others") {
  const auto come_and_go = [] {
    void* block = nullptr;
    std::thread([&block] { block = allocate_block(64); }).join();
    deallocate_block(block, 64);
  };
  for (int i = 0; i < 200; ++i) come_and_go();
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 10'000; ++i) come_and_go();
  const std::size_t after = mallinfo2().uordblks;
  CHECK(after < before + 100'000);
}

TEST_CASE("many threads may allocate what others give back") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20000;
  struct Cell {
    std::atomic<std::uint64_t*> block{nullptr};
  };
  std::vector<Cell> cells(64);
  std::atomic<int> torn{0};
  const auto work = [&](std::uint64_t number) {
    for (int i = 0; i < kRounds; ++i) {
      auto* block = static_cast<std::uint64_t*>(allocate_block(64));
      block[0] = block[7] = number * kRounds + static_cast<std::uint64_t>(i);
      block = cells[static_cast<std::size_t>(i) % cells.size()].block.exchange(block);
      if (block == nullptr) continue;
      if (block[0] != block[7]) ++torn;
      deallocate_block(block, 64);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  for (Cell& cell : cells) deallocate_block(cell.block, 64);
  CHECK(torn == 0);
}

}  // namespace
}  // namespace heddle::base
