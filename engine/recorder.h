#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine_core.h"
#include "engine/recorded_program.h"

namespace heddle::detail {

class OperationScope;

/// While it lives its thread records what it pushes to one engine. Recorders of different engines
/// nest.
///
/// An operation that the thread runs meanwhile, as it may for another engine or for a deletion, is
/// not part of the script: inside it of() finds only recorders that began there.
///
/// Thread safety: belongs to the thread that made it.
class Recorder {
 public:
  explicit Recorder(EngineCore& engine);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The one with which the calling thread records for `engine`, or null.
  static Recorder* of(const EngineCore& engine) noexcept {
    return t_current == nullptr ? nullptr : find(engine);
  }
  /// False if the calling thread records for no engine.
  static bool is_any() noexcept { return t_current != nullptr; }
  static Recorder* of(const Engine& engine) { return of(core_of(engine)); }

  /// Throws Error, naming `call`, while the calling thread records for `engine`.
  static void check_not_recording(std::string_view call, const EngineCore& engine,
                                  const std::string& purpose = {}) {
    if (of(engine) != nullptr) refuse(call, purpose);
  }

  /// Keeps the submission, whose callable is moved from. Throws what submit() would for it.
  void capture(const Submission& submission);
  /// Keeps an operation that works with what `step` gives in each run.
  void capture(RunStep step, ReservingTask task, VarList reads, VarList mutates,
               const PushOptions& options);
  /// Keeps what is to be done at this place of the script in each run.
  void capture(RunStep step) { program_->add_step(std::move(step)); }

  /// What was captured.
  ProgramHandle finish();

 private:
  friend class PauseRecording;

  static Recorder* find(const EngineCore& engine) noexcept;
  [[noreturn]] static void refuse(std::string_view call, const std::string& purpose);
  RecordedOp describe(const Submission& submission) const;

  static constinit thread_local Recorder* t_current;

  EngineCore& engine_;
  const OperationScope* const scope_;  ///< in which the thread began to record
  Recorder* const outer_;
  ProgramHandle program_;
};

/// Lets the calling thread use its engines as if it did not record: for what the script does not
/// do, as giving back memory that nothing recorded refers to.
class PauseRecording {
 public:
  PauseRecording() : paused_(std::exchange(Recorder::t_current, nullptr)) {}
  ~PauseRecording() { Recorder::t_current = paused_; }
  PauseRecording(const PauseRecording&) = delete;
  PauseRecording& operator=(const PauseRecording&) = delete;

 private:
  Recorder* const paused_;
};

/// Pushes fn(reserved) with what reserve() gives, and returns the sequence number. A recording
/// keeps both: each run of it calls reserve(), before it pushes anything, and fn with what that
/// gave for this run. So `reserve` may be called by several threads at a time, `fn` may not.
template <class Reserve, class Fn>
std::uint64_t push_reserving(Engine& engine, Reserve reserve, Fn fn, VarList reads, VarList mutates,
                             const PushOptions& options) {
  if (Recorder* const recorder = Recorder::of(engine)) {
    auto task = [fn = std::move(fn)](RunContext&, const Reserved& reserved) mutable {
      fn(reserved);
    };
    recorder->capture(std::move(reserve), std::move(task), reads, mutates, options);
    return 0;
  }
  const Reserved reserved = reserve();
  return engine.push([fn = std::move(fn), reserved]() mutable { fn(reserved); }, reads, mutates,
                     options);
}

/// Calls step() here, or, while the thread records for the default engine, at this place of each
/// run. Does not make the default engine.
template <class Step>
void do_or_record(Step step) {
  Recorder* const recorder = Recorder::is_any() ? Recorder::of(Engine::get()) : nullptr;
  if (recorder != nullptr) {
    recorder->capture([step = std::move(step)] {
      step();
      return Reserved{};
    });
  } else {
    step();
  }
}

}  // namespace heddle::detail
