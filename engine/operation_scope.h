#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/device.h"
#include "heddle/trace.h"

#include "engine/access_check.h"

namespace heddle::device {
class Backend;
}

namespace heddle::detail {

class EngineCore;
struct VarState;

/// Marks the calling thread as being inside an operation for as long as the object lives.
///
/// "Inside" covers the callable, its destructor and a variable's `last`. Scopes nest when one
/// engine's operation runs another engine that works on the caller's thread.
///
/// Thread safety: an object belongs to the thread that made it.
class OperationScope {
 public:
  OperationScope(const EngineCore* engine, std::string_view name, std::uint64_t sequence,
                 Device device, Lane lane, std::uint64_t generation)
      : engine_(engine),
        name_(name.empty() ? std::string_view("operation") : name),
        sequence_(sequence),
        device_(device),
        lane_(lane),
        generation_(generation),
        outer_(t_current) {
    t_current = this;
  }
  /// Closes the blocks that were opened.
  ~OperationScope() {
    if (rare_ != nullptr) close();
    t_current = outer_;
  }
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;

  /// The innermost scope of this thread, or null outside of operations.
  static OperationScope* current() noexcept { return t_current; }
  /// Makes `scope` the innermost one and returns the one that was, where tests let several threads
  /// of control share one of the system.
  static OperationScope* exchange_current(OperationScope* scope) noexcept;

  /// The innermost scope of an operation of `engine` on this thread, or null.
  static const OperationScope* of(const EngineCore& engine) noexcept;

  const OperationScope* outer() const { return outer_; }
  const EngineCore* engine() const { return engine_; }
  std::string_view name() const { return name_; }  ///< "operation" if it has none
  std::uint64_t sequence() const { return sequence_; }
  Device device() const { return device_; }
  Lane lane() const { return lane_; }
  /// Which wait_for_all() covers the operation, and so what it pushes.
  std::uint64_t generation() const { return generation_; }

  /// From now on compares what the operation touches with this.
  void begin_check(std::vector<AccessCheck::Declared> declared);
  /// The callable has returned. Throws AccessViolation; checks nothing any more.
  void end_check() {
    if (rare_ != nullptr) finish_check();
  }
  /// The callable has thrown: checks nothing any more.
  void drop_check() noexcept {
    if (rare_ != nullptr) rare_->check.reset();
  }
  /// The check of the innermost operation of `var`'s engine that this thread is in, or null.
  static AccessCheck* check_for(const VarState& var) noexcept;

  /// Lets the operation touch `block` until it ends. Opening one twice is harmless.
  void open(device::Backend& backend, void* block, std::size_t bytes);

 private:
  struct Opened {
    device::Backend* backend;
    void* block;
    std::size_t bytes;
  };
  /// What few operations need.
  struct Rare {
    std::vector<Opened> opened;
    std::unique_ptr<AccessCheck> check;
  };

  Rare& rare();
  void close() noexcept;
  void finish_check();

  static constinit thread_local OperationScope* t_current;

  const EngineCore* engine_;
  std::string_view name_;
  std::uint64_t sequence_;
  Device device_;
  Lane lane_;
  std::uint64_t generation_;
  std::unique_ptr<Rare> rare_;
  OperationScope* outer_;
};

}  // namespace heddle::detail
