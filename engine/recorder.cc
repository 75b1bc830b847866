#include "engine/recorder.h"

#include "engine/operation_scope.h"

namespace heddle::detail {

constinit thread_local Recorder* Recorder::t_current = nullptr;

Recorder::Recorder(EngineCore& engine)
    : engine_(engine),
      scope_(OperationScope::current()),
      outer_(t_current),
      program_(new RecordedProgram(engine)) {
  t_current = this;
}

Recorder::~Recorder() {
  // Before what was captured is destroyed, by a script that threw.
  t_current = outer_;
}

Recorder* Recorder::find(const EngineCore& engine) noexcept {
  const OperationScope* const scope = OperationScope::current();
  for (Recorder* recorder = t_current; recorder != nullptr; recorder = recorder->outer_) {
    if (recorder->scope_ != scope) return nullptr;
    if (&recorder->engine_ == &engine) return recorder;
  }
  return nullptr;
}

void Recorder::refuse(std::string_view call, const std::string& purpose) {
  throw Error("[" + std::string(call) + "] called while this thread records on the same engine" +
              purpose + ": expected pushes only, which Recording::run() pushes");
}

RecordedOp Recorder::describe(const Submission& submission) const {
  RecordedOp op;
  op.options = *submission.options;
  op.name = submission.options->name;
  op.options.name = {};
  op.copies.assign(op.options.copies.begin(), op.options.copies.end());
  op.options.copies = {};
  op.priority = submission.priority;
  op.kind = submission.kind;
  op.route = engine_.inspect(submission);
  return op;
}

void Recorder::capture(const Submission& submission) {
  RecordedOp op = describe(submission);
  RecordedCall call;
  if (submission.task != nullptr) call.function = std::move(*submission.task);
  if (submission.async_task != nullptr) call.function = std::move(*submission.async_task);
  program_->add(std::move(op), std::move(call), submission);
}

void Recorder::capture(RunStep step, ReservingTask task, VarList reads, VarList mutates,
                       const PushOptions& options) {
  Task stands_for;  // its route depends on there being one
  const Submission submission{.task = &stands_for,
                              .reads = reads,
                              .mutates = mutates,
                              .options = &options,
                              .priority = options.priority};
  RecordedOp op = describe(submission);
  op.step = program_->add_step(std::move(step));
  program_->add(std::move(op), {std::move(task)}, submission);
}

ProgramHandle Recorder::finish() {
  program_->finish();
  return std::move(program_);
}

}  // namespace heddle::detail
