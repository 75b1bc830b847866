#include "engine/device/cuda_graphs.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda_runtime_api.h>

#include "heddle/cuda.h"
#include "heddle/engine.h"
#include "heddle/error.h"

#include "engine/device/backend.h"
#include "tests/support/fake_cuda_graphs.h"
#include "tests/support/fake_cuda_runtime.h"
#include "tests/support/gate.h"

// How runs of recordings become CUDA graphs. What the GPU does is host work in a fake stream.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::CaptureFault;
using support::FakeCudaGraphs;

FakeCudaGraphs operator-(FakeCudaGraphs a, const FakeCudaGraphs& b) {
  a.made -= b.made;
  a.updated -= b.updated;
  a.launched -= b.launched;
  a.nodes -= b.nodes;
  return a;
}

/// What the program has done with graphs since then.
class Count {
 public:
  FakeCudaGraphs since() const { return support::fake_cuda_graphs() - before_; }

 private:
  FakeCudaGraphs before_ = support::fake_cuda_graphs();
};

PushOptions on_gpu(int gpu) { return {.device = Device::gpu(gpu), .capturable = true}; }

/// Pushes operations that append to a list, each when the GPU comes to it.
class List {
 public:
  explicit List(Engine& engine) : engine_(engine), var_(engine.new_variable("list")) {}

  void push(int number, const PushOptions& options = on_gpu(0)) {
    engine_.push(
        [this, number](RunContext& context) {
          if (!context.device.is_gpu()) return items_.push_back(number);
          support::enqueue_on_fake_cuda(cuda_stream(context),
                                        [this, number] { items_.push_back(number); });
        },
        {}, {var_}, options);
  }
  Recording record(int operations) {
    return engine_.record([&] {
      for (int i = 0; i < operations; ++i) push(i);
    });
  }
  /// A run whose items nobody wants, as the first one, which is plain.
  void finish(const Recording& recording) {
    recording.run();
    take();
  }
  std::vector<int> take() {
    engine_.wait_for_var(var_);
    return std::exchange(items_, {});
  }
  const Var& var() const { return var_; }

 private:
  Engine& engine_;
  const Var var_;
  std::vector<int> items_;
};

std::vector<int> numbers(int count) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back(i);
  return result;
}

TEST_CASE("a recorded chain is one GPU graph from its second run on") {
  Engine engine;
  List list(engine);
  const Recording recording = list.record(50);
  const Count count;
  recording.run();
  CHECK(list.take() == numbers(50));
  CHECK(count.since().launched == 0);
  for (std::uint64_t run = 1; run <= 3; ++run) {
    recording.run();
    CHECK(list.take() == numbers(50));
    CHECK(count.since().launched == run);
  }
  CHECK(count.since().made == 1);
  CHECK(count.since().updated == 2);
  CHECK(count.since().nodes == 150);
}

TEST_CASE("runs in a row that share a GPU graph keep their order") {
  Engine engine;
  List list(engine);
  const Recording recording = list.record(10);
  std::vector<int> expected;
  for (int run = 0; run < 50; ++run) {
    recording.run();
    list.push(-run);
    for (int i = 0; i < 10; ++i) expected.push_back(i);
    expected.push_back(-run);
  }
  CHECK(list.take() == expected);
}

TEST_CASE("callables that a GPU graph captures are called in each run") {
  Engine engine;
  const Var x = engine.new_variable();
  std::vector<std::uint64_t> seen;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 4; ++i) {
      engine.push(
          [&seen](RunContext& context) {
            support::enqueue_on_fake_cuda(cuda_stream(context),
                                          [&seen, n = context.sequence] { seen.push_back(n); });
          },
          {}, {x}, on_gpu(0));
    }
  });
  std::vector<std::uint64_t> expected;
  for (int run = 0; run < 5; ++run) {
    const std::uint64_t first = recording.run();
    for (std::uint64_t i = 0; i < 4; ++i) expected.push_back(first + i);
  }
  engine.wait_for_var(x);
  CHECK(seen == expected);
}

TEST_CASE("an operation that is not capturable divides a GPU graph") {
  Engine engine;
  List list(engine);
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 9; ++i) {
      PushOptions options = on_gpu(0);
      options.capturable = i != 4;
      list.push(i, options);
    }
  });
  list.finish(recording);
  const Count count;
  recording.run();
  CHECK(list.take() == numbers(9));
  CHECK(count.since().launched == 2);
  CHECK(count.since().nodes == 8);
}

TEST_CASE("a long recording becomes several GPU graphs") {
  Engine engine;
  List list(engine);
  constexpr int kOperations = 2 * 64 + 10;
  const Recording recording = list.record(kOperations);
  list.finish(recording);
  const Count count;
  recording.run();
  CHECK(list.take() == numbers(kOperations));
  CHECK(count.since().launched == 3);
}

TEST_CASE("a GPU graph takes one place of the window") {
  EngineOptions options;
  options.compute_window = 1;
  Engine engine(options);
  List list(engine);
  const Recording recording = list.record(20);
  list.finish(recording);
  const Count count;
  for (int run = 0; run < 3; ++run) recording.run();
  CHECK(list.take().size() == 60);
  CHECK(count.since().launched == 3);
}

TEST_CASE("a recording of few operations is issued without GPU graphs") {
  Engine engine;
  List list(engine);
  const Recording recording = list.record(3);
  const Count count;
  for (int run = 0; run < 4; ++run) recording.run();
  CHECK(list.take().size() == 12);
  CHECK(count.since().launched == 0);
}

TEST_CASE("a recording whose GPU graph changes its shape gets a new one") {
  Engine engine;
  const Var x = engine.new_variable();
  int done = 0;
  int more = 0;  // of the run that is issued
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 4; ++i) {
      engine.push(
          [&](RunContext& context) {
            for (int k = 0; k <= more; ++k) {
              support::enqueue_on_fake_cuda(cuda_stream(context), [&done] { ++done; });
            }
          },
          {}, {x}, on_gpu(0));
    }
  });
  recording.run();
  engine.wait_for_var(x);
  const Count count;
  for (more = 0; more < 3; ++more) {
    recording.run();
    engine.wait_for_var(x);
  }
  CHECK(done == 4 + 4 + 8 + 12);
  CHECK(count.since().made == 3);
}

TEST_CASE("what is captured but not launched yet is waited for on other devices") {
  Engine engine;
  List list(engine);
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 60; ++i) list.push(i, on_gpu(i / 5 % 3));
  });
  for (int run = 0; run < 5; ++run) {
    recording.run();
    CHECK(list.take() == numbers(60));
  }
}

TEST_CASE("a GPU graph ends with what the recording needs elsewhere") {
  Engine engine;
  List list(engine);
  const Var copied = engine.new_variable();
  support::Gate gate;
  bool was_copied = false;
  bool is_held = false;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 5; ++i) list.push(i);
    engine.push([&was_copied] { was_copied = true; }, {list.var()}, {copied},
                {.device = Device::gpu(0), .lane = Lane::kCopyOut});
    const Var other = engine.new_variable();
    for (int i = 0; i < 5; ++i) {
      engine.push(
          [&](RunContext& context) {
            support::enqueue_on_fake_cuda(cuda_stream(context), [&gate, held = is_held] {
              if (held) gate.wait();
            });
          },
          {}, {other}, on_gpu(0));
    }
  });
  recording.run();
  engine.wait_for_all();
  list.take();
  was_copied = false;
  is_held = true;
  recording.run();
  engine.wait_for_var(copied);
  CHECK(was_copied);
  gate.open();
  engine.wait_for_all();
  CHECK(list.take() == numbers(5));
}

TEST_CASE("a CPU operation in a recording divides its GPU graphs") {
  Engine engine;
  List list(engine);
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 30; ++i) list.push(i, i % 10 == 5 ? PushOptions{} : on_gpu(0));
  });
  for (int run = 0; run < 5; ++run) {
    recording.run();
    CHECK(list.take() == numbers(30));
  }
}

TEST_CASE("an operation that throws while it is captured poisons what follows on the GPU") {
  Engine engine;
  List list(engine);
  bool throws = false;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 4; ++i) list.push(i);
    engine.push(
        [&throws] {
          if (throws) throw std::runtime_error("on purpose");
        },
        {}, {list.var()}, on_gpu(0));
    for (int i = 4; i < 8; ++i) list.push(i);
  });
  list.finish(recording);
  throws = true;
  recording.run();
  CHECK_THROWS_WITH(list.take(), Contains("on purpose"));
  engine.clear_error(list.var());
  // What is issued behind it may have run.
  const std::vector<int> begun = list.take();
  REQUIRE(begun.size() >= 4);
  CHECK(std::vector<int>(begun.begin(), begun.begin() + 4) == numbers(4));
  throws = false;
  recording.run();
  CHECK(list.take() == numbers(8));
}

TEST_CASE("what cannot be captured fails once by name and is then run without GPU graphs") {
  Engine engine;
  List list(engine);
  const Recording recording = list.record(8);
  list.finish(recording);
  support::fail_fake_cuda_capture(CaptureFault::kEnd);
  recording.run();
  CHECK_THROWS_WITH(list.take(),
                    Contains("cudaStreamEndCapture") && Contains("HEDDLE_CUDA_GRAPHS=0"));
  support::fail_fake_cuda_capture(CaptureFault::kNone);
  engine.clear_error(list.var());
  const Count count;
  recording.run();
  CHECK(list.take() == numbers(8));
  CHECK(count.since().launched == 0);
}

TEST_CASE("an operation that does what cannot be captured is named") {
  Engine engine;
  List list(engine);
  bool waits = false;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 4; ++i) list.push(i);
    PushOptions options = on_gpu(0);
    options.name = "culprit";
    engine.push(
        [&waits](RunContext& context) {
          if (waits) cudaStreamSynchronize(cuda_stream(context));
        },
        {}, {list.var()}, options);
  });
  list.finish(recording);
  waits = true;
  recording.run();
  CHECK_THROWS_WITH(list.take(), Contains("culprit"));
  engine.clear_error(list.var());
  list.take();
  recording.run();
  CHECK(list.take() == numbers(4));
}

TEST_CASE("where the GPU does not capture recordings are run without graphs") {
  Engine engine;
  List list(engine);
  const Recording recording = list.record(8);
  list.finish(recording);
  support::fail_fake_cuda_capture(CaptureFault::kBegin);
  recording.run();
  CHECK(list.take() == numbers(8));
  support::fail_fake_cuda_capture(CaptureFault::kNone);
}

TEST_CASE("an operation that lacks memory lets the GPU do what was captured before it") {
  Engine engine;
  const Var x = engine.new_variable();
  std::atomic<int> done{0};
  bool needs_much = false;
  int seen = 0;  // done when the memory was asked for in vain
  const auto work = [&done](RunContext& context) {
    support::enqueue_on_fake_cuda(cuda_stream(context), [&done] { ++done; });
  };
  const auto ask = [&](RunContext& context) {
    CUstream_st* const stream = cuda_stream(context);
    if (needs_much) {
      device::Backend& backend = device::backend_of(context.device);
      CHECK_THROWS_AS(backend.allocate(std::size_t{1} << 34U), OutOfMemory);
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (done.load() < 2 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
      }
      seen = done.load();
    }
    support::enqueue_on_fake_cuda(stream, [&done] { ++done; });
  };
  const Recording recording = engine.record([&] {
    engine.push(work, {}, {x}, on_gpu(0));
    engine.push(work, {}, {x}, on_gpu(0));
    engine.push(ask, {}, {x}, on_gpu(0));
    engine.push(work, {}, {x}, on_gpu(0));
  });
  recording.run();
  engine.wait_for_var(x);
  done = 0;
  needs_much = true;
  support::limit_fake_cuda_memory(std::size_t{1} << 30U);
  recording.run();
  engine.wait_for_var(x);
  support::limit_fake_cuda_memory(std::size_t{1} << 40U);
  CHECK(seen == 2);
  CHECK(done.load() == 4);
}

TEST_CASE("executable GPU graphs are kept up to a limit") {
  Engine engine;
  List list(engine);
  const std::uint64_t before = support::fake_cuda_graphs().alive;
  for (int i = 0; i < 100; ++i) {
    const Recording recording = list.record(5);
    recording.run();
    recording.run();
    list.take();
  }
  CHECK(support::fake_cuda_graphs().alive <= before + device::CudaGraphs::kMostKept + 1);
}

TEST_CASE("executable GPU graphs end with their engine") {
  const std::uint64_t before = support::fake_cuda_graphs().alive;
  {
    Engine engine;
    List list(engine);
    const Recording recording = list.record(5);
    for (int run = 0; run < 3; ++run) recording.run();
    list.take();
    CHECK(support::fake_cuda_graphs().alive == before + 1);
  }
  CHECK(support::fake_cuda_graphs().alive == before);
}

}  // namespace
}  // namespace heddle
