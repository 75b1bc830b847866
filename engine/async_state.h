#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/sync.h"
#include "engine/engine_core.h"

namespace heddle::detail {

/// What a Completion and its engine share.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariant: complete() is called exactly once, by the first use of the Completion or by its
/// destruction, unless abandon() came before both.
struct AsyncState {
  AsyncState(std::shared_ptr<EngineCore> owner, std::string op_name, std::uint64_t op_sequence,
             Device op_device)
      : engine(std::move(owner)),
        name(std::move(op_name)),
        sequence(op_sequence),
        device(op_device) {}
  virtual ~AsyncState() = default;

  /// The user's done() or fail().
  void use(std::exception_ptr error);
  /// The Completion was destroyed.
  void drop();
  /// What had become of the Completion when its callable threw.
  enum class Abandoned : std::uint8_t {
    kOpen,     ///< complete() will not be called; later uses are ignored
    kDropped,  ///< complete() was or is being called by drop()
    kUsed,     ///< the operation was ended before the throw
  };
  /// The callable threw.
  Abandoned abandon();

  const std::shared_ptr<EngineCore> engine;  ///< keeps the engine's memory, not its threads
  const std::string name;
  const std::uint64_t sequence;
  const Device device;
  CancelToken cancel;  ///< keeps what RunContext::group refers to

 protected:
  /// `error`: null for success.
  virtual void complete(std::exception_ptr error) = 0;

 private:
  enum class Stage : std::uint8_t { kOpen, kDropped, kAbandoned, kUsed };
  base::Atomic<Stage> stage_{Stage::kOpen};
};

}  // namespace heddle::detail
