#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "heddle/device.h"
#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/support/gate.h"
#include "tests/support/root_of.h"

// The devices of the program that this file is part of, and work on them. Every behaviour in this
// folder is written once and holds for each kind of device: see CMakeLists.txt.

namespace heddle::conformance {

using support::root_of;

/// Its logical GPUs, or two names of the CPU if it has none.
std::vector<Device> devices();

/// devices() and the memories of the host.
std::vector<Device> memories();

/// devices()[index], starting over behind the last one.
Device device(std::size_t index);

/// The lanes that are streams on a GPU.
std::vector<Lane> stream_lanes();

/// For the callable of an operation: does `work` when the operation's stream comes to it, which on
/// a CUDA device is after the callable has returned. `work` throws nothing, calls no engine, and
/// waits for nothing but the test's own thread.
void in_stream(const RunContext& context, std::function<void()> work);

/// An operation at which its stream stands still until release(). Declare it after its engine, so
/// that a failed test releases it.
class HeldStream {
 public:
  HeldStream(Engine& engine, VarList reads, VarList mutates, const PushOptions& options)
      : state_(std::make_shared<State>()) {
    engine.push(
        [state = state_](const RunContext& context) {
          in_stream(context, [state] {
            state->started.open();
            state->released.wait();
          });
        },
        reads, mutates, options);
  }
  ~HeldStream() { release(); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  /// Blocks until the stream stands still.
  void wait_until_started() const { state_->started.wait(); }
  void release() { state_->released.open(); }

 private:
  struct State {
    support::Gate started;
    support::Gate released;
  };
  std::shared_ptr<State> state_;
};

/// `size` bytes that differ from those of other seeds, also where they are shifted.
std::vector<std::uint8_t> pattern(std::size_t size, std::uint32_t seed);

/// An array of one axis with these elements.
template <class T>
NDArray array_of(const std::vector<T>& values, Device device) {
  return NDArray::from(values, Shape{static_cast<std::int64_t>(values.size())}, device);
}

}  // namespace heddle::conformance
