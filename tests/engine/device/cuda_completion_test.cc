#include "engine/device/cuda_completion.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda_runtime_api.h>

#include "heddle/cuda.h"
#include "heddle/engine.h"

#include "engine/device/cuda_backend.h"
#include "engine/device/cuda_stream.h"
#include "engine/device/cuda_timeline.h"
#include "engine/device/deferred_call.h"
#include "engine/device/host_wait.h"
#include "tests/support/fake_cuda_runtime.h"
#include "tests/support/gate.h"

namespace heddle::device {
namespace {

using support::Gate;

/// False if that is not so in 30 s.
bool becomes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A stream of its own, and how many pieces of it have finished on which thread.
class Stream {
 public:
  Stream() : stream_(*cuda_gpu_of(Device::gpu(0)), Lane::kCompute) {}

  void issue() {
    ++issued_;
    stream_.issue({.run = [](void*) {}, .finished = &Stream::finished, .argument = this}, {});
  }
  /// Until the GPU has done everything.
  void synchronize() const { static_cast<void>(cudaStreamSynchronize(stream_.handle())); }
  bool has_finished() const { return finished_.load() == issued_.load(); }
  int finished_here() const { return finished_here_.load(); }
  int issued() const { return issued_.load(); }
  CudaStream* operator->() { return &stream_; }

 private:
  static void finished(void* stream) {
    auto& self = *static_cast<Stream*>(stream);
    if (std::this_thread::get_id() == self.owner_) ++self.finished_here_;
    ++self.finished_;
  }

  const std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<int> issued_{0};
  std::atomic<int> finished_{0};
  std::atomic<int> finished_here_{0};
  CudaStream stream_;  // last: it waits for its work
};

TEST_CASE("work that nobody waits for is found done all the same") {
  Stream stream;
  for (int i = 0; i < 20; ++i) stream.issue();
  CHECK(becomes_true([&] { return stream.has_finished(); }));
}

TEST_CASE("a thread that asks a stream finishes what the stream has done") {
  Stream stream;
  // Another thread may be at it just then.
  for (int round = 0; round < 100 && stream.finished_here() == 0; ++round) {
    for (int i = 0; i < 20; ++i) stream.issue();
    stream.synchronize();
    stream->retire();
  }
  CHECK(stream.finished_here() > 0);
}

TEST_CASE("a stream that gets work as fast as it is asked finishes some of it", "[.]") {
  constexpr int kPieces = 300;
  Stream stream;
  support::watch_fake_cuda_questions([&] {
    if (stream.issued() < kPieces) stream.issue();
    stream.synchronize();
  });
  stream.issue();
  stream->hurry();
  CHECK(becomes_true([&] { return stream.issued() == kPieces && stream.has_finished(); }));
  support::watch_fake_cuda_questions({});
}

/// A stream whose piece of work defers two calls when it has finished.
class DeferringStream {
 public:
  explicit DeferringStream(
      std::function<void()> first, std::function<void()> second = [] {})
      : actions_{std::move(first), std::move(second)} {}

  void issue() {
    stream_.issue({.run = [](void*) {}, .finished = &DeferringStream::finished, .argument = this},
                  {});
  }
  CudaStream* operator->() { return &stream_; }
  bool is_over() const { return over_.load() == 2; }

 private:
  static void finished(void* stream) {
    auto& self = *static_cast<DeferringStream*>(stream);
    for (DeferredCall& call : self.calls_) deferred_calls()->add(call);
  }
  template <std::size_t kAction>
  static void act(void* stream) {
    auto& self = *static_cast<DeferringStream*>(stream);
    self.actions_[kAction]();
    ++self.over_;
  }

  const std::array<std::function<void()>, 2> actions_;
  std::array<DeferredCall, 2> calls_{DeferredCall{.call = &act<0>, .argument = this},
                                     DeferredCall{.call = &act<1>, .argument = this}};
  std::atomic<int> over_{0};
  CudaStream stream_{*cuda_gpu_of(Device::gpu(0)), Lane::kCompute};
};

TEST_CASE("what a piece of work defers is called in order, when it has left") {
  std::vector<int> calls;
  std::unique_ptr<DeferringStream> stream;
  bool has_left = false;
  const auto first = [&] {
    has_left = is_reached(Token((*stream)->id(), 1));
    calls.push_back(1);
  };
  stream = std::make_unique<DeferringStream>(first, [&] { calls.push_back(2); });
  stream->issue();
  REQUIRE(becomes_true([&] { return stream->is_over(); }));
  CHECK(has_left);
  CHECK(calls == std::vector{1, 2});
}

TEST_CASE("while a call that was deferred waits other streams are asked") {
  Gate gate;
  Gate waits;
  DeferringStream deferring([&] {
    const HostWait wait;
    waits.open();
    gate.wait();
  });
  deferring.issue();
  waits.wait();
  Stream stream;
  for (int i = 0; i < 20; ++i) stream.issue();
  CHECK(becomes_true([&] { return stream.has_finished(); }));
  gate.open();
  CHECK(becomes_true([&] { return deferring.is_over(); }));
}

TEST_CASE("while a call that was deferred waits those behind it are made") {
  Gate gate;
  DeferringStream deferring(
      [&] {
        const HostWait wait;
        gate.wait();
      },
      [&] { gate.open(); });
  deferring.issue();
  SECTION("if it is made by the thread that looks at all streams") {}
  SECTION("if it may be made by one that has asked") {
    static_cast<void>(cudaStreamSynchronize(deferring->handle()));
    deferring->retire();
  }
  CHECK(becomes_true([&] { return deferring.is_over(); }));
}

TEST_CASE("a call that was deferred defers others, which are made when it is over") {
  bool is_first_over = false;
  bool was_first_over = false;
  std::atomic<bool> is_nested_over{false};
  const std::function<void()> nest = [&] {
    was_first_over = is_first_over;
    is_nested_over = true;
  };
  DeferredCall nested{.call = [](void* f) { (*static_cast<const std::function<void()>*>(f))(); },
                      .argument = const_cast<std::function<void()>*>(&nest)};
  DeferringStream deferring([&] {
    deferred_calls()->add(nested);
    is_first_over = true;
  });
  deferring.issue();
  CHECK(becomes_true([&] { return is_nested_over.load() && deferring.is_over(); }));
  CHECK(was_first_over);
}

TEST_CASE("a thread that defers asks a stream and calls nothing until it has nothing in hand") {
  const std::thread::id here = std::this_thread::get_id();
  int called_here = 0;
  bool is_in_hand = false;
  bool was_in_hand = false;
  const auto note = [&] {
    if (std::this_thread::get_id() != here) return;
    ++called_here;
    was_in_hand = was_in_hand || is_in_hand;
  };
  // Another thread may be at it just then.
  for (int round = 0; round < 2000 && called_here == 0; ++round) {
    DeferringStream deferring(note);
    deferring.issue();
    static_cast<void>(cudaStreamSynchronize(deferring->handle()));
    {
      const Deferral deferral;
      is_in_hand = true;
      deferring->retire();
      is_in_hand = false;
    }
    CHECK(becomes_true([&] { return deferring.is_over(); }));
  }
  CHECK(called_here > 0);
  CHECK_FALSE(was_in_hand);
}

TEST_CASE("calls that go on for ever keep nobody from anything else") {
  struct Endless {
    static void call(void* self) {
      auto& endless = *static_cast<Endless*>(self);
      if (endless.must_end) {
        endless.has_ended = true;
      } else {
        deferred_calls()->add(endless.call_);
      }
    }
    DeferredCall call_{.call = &call, .argument = this};
    std::atomic<bool> must_end{false};
    std::atomic<bool> has_ended{false};
  } endless;
  {
    const Deferral deferral;
    deferred_calls()->add(endless.call_);
  }
  Stream stream;
  for (int i = 0; i < 20; ++i) stream.issue();
  CHECK(becomes_true([&] { return stream.has_finished(); }));
  endless.must_end = true;
  CHECK(becomes_true([&] { return endless.has_ended.load(); }));
}

TEST_CASE("one call after the other that was deferred may wait") {
  for (int i = 0; i < 20; ++i) {
    Gate gate;
    const auto wait = [&gate] {
      const HostWait host_wait;
      gate.wait();
    };
    DeferringStream one(wait, wait);
    DeferringStream other(wait, wait);
    one.issue();
    other.issue();
    Stream stream;
    stream.issue();
    CHECK(becomes_true([&] { return stream.has_finished(); }));
    gate.open();
    CHECK(becomes_true([&] { return one.is_over() && other.is_over(); }));
  }
}

TEST_CASE("an engine may end inside an operation that is issued to a GPU") {
  Engine outer;
  int ran = 0;
  for (int i = 0; i < 20; ++i) {
    outer.push(
        [&ran] {
          Engine inner;
          const Var x = inner.new_variable();
          inner.push([&ran] { ++ran; }, {}, {x});
          for (int gpu : {0, 1, 0}) {
            inner.push([&ran] { ++ran; }, {}, {x}, {.device = Device::gpu(gpu)});
          }
        },
        {}, {}, {.device = Device::gpu(0)});
  }
  outer.wait_for_all();
  CHECK(ran == 80);
}

TEST_CASE("an engine may end while a thread sees that there is no more to issue") {
  EngineOptions options;
  options.compute_window = 1;
  std::atomic<int> ran{0};
  for (int i = 0; i < 300; ++i) {
    Engine engine(options);
    for (int k = 0; k < 4; ++k) {
      engine.push([&ran] { ++ran; }, {}, {}, {.device = Device::gpu(0)});
    }
  }
  CHECK(ran == 1200);
}

/// An engine with a stream that stands still, and what it knows of who waits.
class HeldEngine {
 public:
  explicit HeldEngine(const EngineOptions& options = {}) : engine_(options) {
    engine_.push(
        [this](const RunContext& context) {
          stream_ = CudaStream::current()->id();
          support::enqueue_on_fake_cuda(cuda_stream(context), [gate = gate_] { gate->wait(); });
        },
        {}, {x_}, {.device = Device::gpu(0)});
  }
  ~HeldEngine() {
    gate_->open();
    engine_.wait_for_all();
  }
  HeldEngine(const HeldEngine&) = delete;
  HeldEngine& operator=(const HeldEngine&) = delete;

  Engine& engine() { return engine_; }
  const Var& x() const { return x_; }
  bool is_urgent() const { return find_timeline(stream_)->is_urgent(); }
  void release() { gate_->open(); }

 private:
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  Engine engine_;
  const Var x_ = engine_.new_variable();
  std::uint16_t stream_ = 0;
};

TEST_CASE("what only the GPU waits for is not urgent") {
  HeldEngine held;
  held.engine().push([] {}, {}, {held.x()}, {.device = Device::gpu(0)});
  held.engine().push([] {}, {held.x()}, {}, {.device = Device::gpu(1)});
  CHECK_FALSE(held.is_urgent());
}

TEST_CASE("what an operation on the host waits for is urgent") {
  HeldEngine held;
  held.engine().push([] {}, {held.x()}, {});
  CHECK(becomes_true([&] { return held.is_urgent(); }));
}

TEST_CASE("what a copy waits for is urgent") {
  HeldEngine held;
  held.engine().push([] {}, {held.x()}, {}, {.device = Device::gpu(0), .lane = Lane::kCopyOut});
  CHECK(held.is_urgent());
}

TEST_CASE("what an operation on the host waits for is urgent when it is issued later") {
  HeldEngine held;
  Engine& engine = held.engine();
  Gate gate;
  const Var y = engine.new_variable();
  engine.push([&gate] { gate.wait(); }, {}, {y});
  engine.push([] {}, {y}, {held.x()}, {.device = Device::gpu(0)});
  CHECK_FALSE(held.is_urgent());
  engine.push([] {}, {held.x()}, {});
  gate.open();
  CHECK(becomes_true([&] { return held.is_urgent(); }));
}

TEST_CASE("what a thread waits for is urgent") {
  HeldEngine held;
  std::thread waiter;
  SECTION("a variable") {
    waiter = std::thread([&] { held.engine().wait_for_var(held.x()); });
  }
  SECTION("everything") {
    waiter = std::thread([&] { held.engine().wait_for_all(); });
  }
  CHECK(becomes_true([&] { return held.is_urgent(); }));
  held.release();
  waiter.join();
}

TEST_CASE("what operations wait for because their stream has enough is urgent") {
  EngineOptions options;
  options.compute_window = 3;
  HeldEngine held(options);
  for (int i = 0; i < 2; ++i) held.engine().push([] {}, {}, {}, {.device = Device::gpu(0)});
  CHECK_FALSE(held.is_urgent());
  held.engine().push([] {}, {}, {}, {.device = Device::gpu(0)});
  CHECK(held.is_urgent());
}

TEST_CASE("what a thread waits for that may push no more is urgent") {
  EngineOptions options;
  options.max_pending = 2;
  HeldEngine held(options);
  held.engine().push([] {}, {}, {}, {.device = Device::gpu(0)});
  std::thread pusher([&] { held.engine().push([] {}, {}, {}); });
  CHECK(becomes_true([&] { return held.is_urgent(); }));
  held.release();
  pusher.join();
}

}  // namespace
}  // namespace heddle::device
