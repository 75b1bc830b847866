#include "tests/support/emulated_cuda.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include <ucontext.h>

#include "ops/cuda_blas.h"
#include "ops/matmul.h"

namespace heddle::support {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10U;
constexpr std::size_t kWarp = 32;

enum class State { kReady, kAtWarp, kAtBlock, kEnded };

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  State state = State::kEnded;
  EmulatedThread place;
  std::array<unsigned char, 8> shown;
};

/// Runs the threads of one block after the other, each until it ends or waits.
class Block {
 public:
  static Block& instance() {
    static auto* const block = new Block;
    return *block;
  }

  void run(unsigned index, unsigned blocks, dim3 threads, const std::function<void()>& body) {
    body_ = &body;
    const std::size_t count = std::size_t{threads.x} * threads.y * threads.z;
    if (fibers_.size() < count) fibers_.resize(count);
    count_ = count;
    for (std::size_t i = 0; i < count; ++i) start(i, index, blocks, threads);
    for (;;) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (fibers_[i].state != State::kReady) continue;
        current_ = &fibers_[i];
        swapcontext(&scheduler_, &current_->context);
      }
      if (std::all_of(fibers_.begin(), end(),
                      [](const Fiber& f) { return is(f, State::kEnded); })) {
        return;
      }
      release();
    }
  }

  Fiber& current() { return *current_; }

  Fiber& neighbour(int lane) {
    const auto mine = static_cast<std::size_t>(current_ - fibers_.data());
    return fibers_[mine / kWarp * kWarp + static_cast<std::size_t>(lane)];
  }

  void wait(State at) {
    current_->state = at;
    swapcontext(&current_->context, &scheduler_);
  }

 private:
  static bool is(const Fiber& fiber, State state) { return fiber.state == state; }
  std::vector<Fiber>::iterator end() {
    return fibers_.begin() + static_cast<std::ptrdiff_t>(count_);
  }

  void start(std::size_t i, unsigned index, unsigned blocks, dim3 threads) {
    Fiber& fiber = fibers_[i];
    if (fiber.stack == nullptr) fiber.stack = std::make_unique<char[]>(kStackBytes);
    const auto place = static_cast<unsigned>(i);
    fiber.place = {
        {place % threads.x, place / threads.x % threads.y, place / threads.x / threads.y},
        {index, 0, 0},
        threads,
        dim3(blocks)};
    fiber.state = State::kReady;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler_;
    makecontext(&fiber.context, &Block::enter, 0);
  }

  static void enter() {
    Block& block = instance();
    (*block.body_)();
    block.current_->state = State::kEnded;
  }

  void release() {
    bool any = pass(fibers_.begin(), end(), State::kAtBlock);
    for (std::size_t first = 0; first < count_; first += kWarp) {
      const auto begin = fibers_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto size = static_cast<std::ptrdiff_t>(std::min(kWarp, count_ - first));
      any = pass(begin, begin + size, State::kAtWarp) || any;
    }
    if (any) return;
    std::fputs("emulated CUDA: threads wait for each other at different places\n", stderr);
    std::abort();
  }

  /// Lets the threads go on if all of them that have not ended are there.
  static bool pass(std::vector<Fiber>::iterator first, std::vector<Fiber>::iterator last,
                   State at) {
    const bool all = std::all_of(
        first, last, [at](const Fiber& f) { return is(f, at) || is(f, State::kEnded); });
    bool any = false;
    for (; all && first != last; ++first) {
      if (is(*first, at)) {
        first->state = State::kReady;
        any = true;
      }
    }
    return any;
  }

  std::vector<Fiber> fibers_;
  std::size_t count_ = 0;
  ucontext_t scheduler_{};
  Fiber* current_ = nullptr;
  const std::function<void()>* body_ = nullptr;
};

}  // namespace

const EmulatedThread& emulated_thread() { return Block::instance().current().place; }

void run_grid(unsigned blocks, dim3 threads, const std::function<void()>& body) {
  static std::mutex one_grid;
  const std::lock_guard lock(one_grid);
  for (unsigned i = 0; i < blocks; ++i) Block::instance().run(i, blocks, threads, body);
}

void wait_for_block() { Block::instance().wait(State::kAtBlock); }
void wait_for_warp() { Block::instance().wait(State::kAtWarp); }

unsigned char* shown_in_warp(int lane) { return Block::instance().neighbour(lane).shown.data(); }

}  // namespace heddle::support

namespace heddle::ops {

// Instead of cuBLAS.

void cuda_matmul(device::CudaLaunch& on, const MatmulSizes& sizes, const float* a, const float* b,
                 float* c, bool accumulate) {
  support::enqueue_on_fake_cuda(on.stream(), [=] { matmul(sizes, a, b, c, accumulate); });
}

void cuda_matmul(device::CudaLaunch& on, const MatmulSizes& sizes, const double* a, const double* b,
                 double* c, bool accumulate) {
  support::enqueue_on_fake_cuda(on.stream(), [=] { matmul(sizes, a, b, c, accumulate); });
}

}  // namespace heddle::ops
