#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "heddle/device.h"
#include "heddle/trace.h"
#include "heddle/unique_function.h"

// What the callable of an operation is given, and how it is kept.

namespace heddle {

namespace detail {
struct AsyncState;
struct CancelState;
class EngineCore;
}  // namespace detail

/// What a running operation knows about itself. The callable's reference is valid until that
/// returns; a copy until the operation ends, which with push_async is later.
struct RunContext {
  Device device;
  Lane lane = Lane::kCompute;
  std::uint64_t sequence = 0;
  /// True once the engine is being shut down with kCancel, or the operation's group is cancelled.
  bool stop_requested() const;

  // For stop_requested().
  const detail::EngineCore* engine = nullptr;
  const detail::CancelState* group = nullptr;
};

/// Ends an operation of push_async. Move-only, callable from any thread. Destroyed without done()
/// or fail(): the operation fails with "completion dropped". Used twice: the second use is
/// recorded as an error of the engine and otherwise ignored. A thread that pushes first may block
/// on max_pending, and nothing ends by that: complete before you push.
class Completion {
 public:
  explicit Completion(std::shared_ptr<detail::AsyncState> state) noexcept;
  Completion(Completion&&) noexcept = default;
  Completion& operator=(Completion&& other) noexcept;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion();

  void done();
  /// Fails the operation; a null `error` stands for "completion failed".
  void fail(std::exception_ptr error);

 private:
  std::shared_ptr<detail::AsyncState> state_;
};

namespace detail {
using Task = UniqueFunction<void(RunContext&)>;
using AsyncTask = UniqueFunction<void(RunContext&, Completion)>;

/// Throws std::invalid_argument.
[[noreturn]] void refuse_null(const char* call);

template <class Fn>
Task make_task(Fn&& fn) {
  using Stored = std::decay_t<Fn>;
  if constexpr (std::is_invocable_v<Stored&, RunContext&>) {
    return Task(std::forward<Fn>(fn));
  } else {
    static_assert(std::is_invocable_v<Stored&>,
                  "an operation is callable as fn(RunContext&) or fn()");
    if (is_null_callable<Stored>(fn)) return {};
    return Task([fn = Stored(std::forward<Fn>(fn))](RunContext&) mutable { std::invoke(fn); });
  }
}
}  // namespace detail

}  // namespace heddle
