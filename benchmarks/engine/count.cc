#include "count.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

// Where callgrind writes down what it has counted so far, and starts anew. They are told apart by
// what they count, for otherwise the compiler or the linker would make them one.
extern "C" {
volatile int bench_marks = 0;
#define HEDDLE_MARK(name, value) \
  __attribute__((noinline)) void bench_mark_##name() { bench_marks = (value); }
HEDDLE_MARK(pushes_begin, 1)
HEDDLE_MARK(pushes_end, 2)
HEDDLE_MARK(ends_begin, 3)
HEDDLE_MARK(ends_end, 4)
HEDDLE_MARK(run_begin, 5)
HEDDLE_MARK(run_end, 6)
HEDDLE_MARK(replay_begin, 7)
HEDDLE_MARK(replay_end, 8)
#undef HEDDLE_MARK
}

namespace bench::engine {
namespace {

using Mark = void (*)();

/// The workers' part is from the first body to the last: whatever they do between two of them.
Body marking(std::size_t count, Mark begin, Mark end) {
  const auto ran = std::make_shared<std::atomic<std::size_t>>(0);  // each lane has a worker
  return Body([=](std::size_t) {
    const std::size_t before = ran->fetch_add(1, std::memory_order_relaxed);
    if (before == 0) begin();
    if (before + 1 == count) end();
  });
}

Moments marking(Mark begin, Mark end) {
  const auto fall_asleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  return {.before_pushes =
              [=] {
                fall_asleep();
                begin();
              },
          .after_pushes = end};
}

}  // namespace

void run_for_counting(const std::string& name, const Options& options) {
  const Program program = program_called(name, options.operations);
  const std::size_t count = program.operations.size();
  const auto contender = make_heddle({.workers = 1, .max_pending = 2 * count + 2});
  contender->prepare(program);
  contender->run_held({}, {});
  contender->run_held(marking(count, bench_mark_ends_begin, bench_mark_ends_end),
                      marking(bench_mark_pushes_begin, bench_mark_pushes_end));
  contender->repeat_held(marking(count, bench_mark_replay_begin, bench_mark_replay_end),
                         marking(bench_mark_run_begin, bench_mark_run_end));
  std::printf("%s: %zu operations\n", name.c_str(), count);
}

}  // namespace bench::engine
