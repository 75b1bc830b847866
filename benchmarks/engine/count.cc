#include "count.h"

#include <chrono>
#include <cstdio>
#include <semaphore>
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
#undef HEDDLE_MARK
}

namespace bench::engine {

void run_for_counting(const std::string& name, const Options& options) {
  const Program program = plain_program(name, options.operations);
  const std::size_t count = program.operations.size();
  const auto contender = make_heddle({.workers = 1, .max_pending = 2 * count + 2});
  contender->prepare(program);
  contender->run_held({}, {});

  // The worker's part is from the first body to the last: whatever it does between two of them.
  std::size_t ran = 0;  // by the only worker
  const Body body([&](std::size_t) {
    if (ran == 0) bench_mark_ends_begin();
    if (++ran == count) bench_mark_ends_end();
  });
  const auto fall_asleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  const auto before = [&] {
    fall_asleep();
    bench_mark_pushes_begin();
  };
  contender->run_held(body, {before, [] { bench_mark_pushes_end(); }});
  std::printf("%s: %zu operations\n", name.c_str(), count);
}

}  // namespace bench::engine
