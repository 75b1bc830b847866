#include "heddle/engine.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/base/block_cache.h"
#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/engine_core.h"
#include "engine/fork.h"
#include "engine/make_engine.h"
#include "engine/operation_scope.h"
#include "engine/recorder.h"
#include "engine/var_state.h"

namespace heddle {
namespace detail {
namespace {

std::uint64_t next_engine_id() {
  static base::Atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// A wait inside an operation could wait for that operation itself, and one in a script that is
/// recorded for what has not been pushed. `describe` tells for what.
template <class Describe>
void check_may_wait(std::string_view call, const EngineCore& engine, Describe&& describe) {
  if (Recorder::of(engine) != nullptr) {
    Recorder::check_not_recording(call, engine, ", would wait for " + describe());
  }
  const OperationScope* scope = OperationScope::current();
  if (scope == nullptr) return;
  throw ReentrantWait("[" + std::string(call) + "] called inside operation '" +
                      std::string(scope->name()) + "' #" + std::to_string(scope->sequence()) +
                      ", would wait for " + describe());
}

/// Never destroys `core`. Takes no lock: in a forked child any may be held.
void keep_for_ever(std::shared_ptr<EngineCore> core) {
  struct Kept {
    std::shared_ptr<EngineCore> core;
    Kept* next;
  };
  static base::Atomic<Kept*> first{nullptr};  // leak checkers see from here that it is meant
  auto* const kept = new Kept{std::move(core), first.load()};
  while (!first.compare_exchange_weak(kept->next, kept)) {
  }
}

/// An engine is destroyed inside of its operation `scope`.
[[noreturn]] void abort_in_own_operation(const OperationScope& scope) noexcept {
  std::fprintf(stderr,
               "heddle: [Engine::~Engine] called inside operation '%.*s' #%llu of this engine, "
               "would wait for that operation for ever\n",
               static_cast<int>(scope.name().size()), scope.name().data(),
               static_cast<unsigned long long>(scope.sequence()));
  std::abort();
}

[[noreturn]] void refuse_lane(std::string_view call, Lane lane) {
  throw std::invalid_argument("[" + std::string(call) + "] lane is " +
                              std::to_string(static_cast<int>(lane)) +
                              ", expected one of the enumeration");
}

inline void check_lane(const char* call, Lane lane) {
  if (lane > Lane::kBlocking) refuse_lane(call, lane);
}

void check_mode(ShutdownMode mode) {
  if (mode == ShutdownMode::kDrain || mode == ShutdownMode::kCancel) return;
  throw std::invalid_argument("[Engine::shutdown] mode is " +
                              std::to_string(static_cast<int>(mode)) +
                              ", expected kDrain or kCancel");
}

/// Calls and destroys `last`. Throws what one of the two throws, the first if both do.
void call_once(UniqueFunction<void()>& last) {
  try {
    last();
  } catch (...) {
    try {
      last.reset();
    } catch (...) {
      // What the call has thrown says more.
    }
    throw;
  }
  last.reset();
}

void submit_end(EngineCore& engine, const Var& var, UniqueFunction<void()> last,
                const PushOptions& options, bool frees_early) {
  Task task;
  if (last) task = [last = std::move(last)](RunContext&) mutable { call_once(last); };
  Submission submission{
      .task = task ? &task : nullptr,
      .mutates = std::span<const Var>(&var, 1),
      .options = &options,
      .priority = INT_MAX,  // what a variable's end gives back is wanted by what is to come
      .kind = Submission::Kind::kDelete,
      .frees_early = frees_early,
      .admission = Submission::Admission::kForced};
  engine.submit(submission);
}

/// Pushes the submission, or records it and returns 0.
std::uint64_t submit(EngineCore& engine, Submission&& submission) {
  Recorder* const recorder = Recorder::of(engine);
  if (recorder == nullptr) return engine.submit(submission);
  recorder->capture(submission);
  return 0;
}

std::string everything() { return "all pending operations"; }

}  // namespace

EngineCore::EngineCore(const EngineOptions& options)
    : id_(next_engine_id()), process_(current_process()), options_(options) {}

Var EngineCore::handle(VarState* state) {
  retain(state);
  return Var(state);
}

Var EngineCore::new_variable(std::string_view name) { return Var(new VarState(id_, name)); }

EngineCore& core_of(const Engine& engine) { return engine.core("Engine"); }

void push_free(Engine& engine, Var var, Device device, UniqueFunction<void()> give_back) {
  const bool frees_early = device.is_gpu() && device::backend_of(device).frees_early();
  PushOptions options{.name = "free", .brief = true};
  if (frees_early) {
    options.device = device;
    options.lane = Lane::kBlocking;  // computes nothing
  }
  submit_end(core_of(engine), var, std::move(give_back), options, frees_early);
}

void* allocate_callable(std::size_t bytes) { return base::allocate_block(bytes); }

void deallocate_callable(void* block, std::size_t bytes) noexcept {
  base::deallocate_block(block, bytes);
}

void refuse_null(const char* call) {
  throw std::invalid_argument("[" + std::string(call) + "] null callable");
}

}  // namespace detail

using detail::abort_in_own_operation;
using detail::check_lane;
using detail::check_may_wait;
using detail::everything;
using detail::Submission;

bool RunContext::stop_requested() const {
  return (engine != nullptr && engine->stop_requested()) ||
         (group != nullptr && detail::is_cancelled(*group));
}

Engine::Engine(const EngineOptions& options) : core_(detail::make_engine(options)) {}

Engine::~Engine() {
  // In a forked child its threads do not exist and its locks may be held; after an abandoning
  // shutdown its threads still run. Either way everything must stay as it is.
  const bool is_child = detail::in_forked_child(core_->process());
  const detail::OperationScope* const scope = detail::OperationScope::of(*core_);
  if (scope != nullptr && !is_child) abort_in_own_operation(*scope);
  const bool stays = is_child || !core_->close();
  core_->retire();
  if (stays) detail::keep_for_ever(std::move(core_));
}

detail::EngineCore& Engine::core(const char* call) const {
  detail::check_process(core_->process(), call);
  return *core_;
}

Var Engine::new_variable(std::string_view name) {
  return core("Engine::new_variable").new_variable(name);
}

void Engine::delete_variable(Var var, UniqueFunction<void()> last, const PushOptions& given) {
  detail::EngineCore& engine = core("Engine::delete_variable");
  check_lane("Engine::delete_variable", given.lane);
  detail::Recorder::check_not_recording("Engine::delete_variable", engine);
  PushOptions options = given;
  if (options.name.empty()) options.name = "delete_variable";
  options.cancel = {};  // what is deleted must be given back
  detail::submit_end(engine, var, std::move(last), options, /*frees_early=*/false);
}

void Engine::clear_error(const Var& var) {
  detail::EngineCore& engine = core("Engine::clear_error");
  const PushOptions options{.name = "clear_error"};
  detail::submit(engine, {.mutates = std::span<const Var>(&var, 1),
                          .options = &options,
                          .kind = Submission::Kind::kClear});
}

std::uint64_t Engine::push_task(detail::Task&& task, VarList reads, VarList mutates,
                                const PushOptions& options) {
  detail::EngineCore& engine = core("Engine::push");
  if (!task) detail::refuse_null("Engine::push");
  check_lane("Engine::push", options.lane);
  if (detail::Recorder::is_any()) [[unlikely]] {
    return detail::submit(engine, detail::submission_of(task, reads, mutates, options));
  }
  return engine.push(task, reads, mutates, options);
}

std::uint64_t Engine::push_async_task(detail::AsyncTask&& task, VarList reads, VarList mutates,
                                      const PushOptions& options) {
  detail::EngineCore& engine = core("Engine::push_async");
  if (!task) detail::refuse_null("Engine::push_async");
  check_lane("Engine::push_async", options.lane);
  return detail::submit(engine, {.async_task = &task,
                                 .reads = reads,
                                 .mutates = mutates,
                                 .options = &options,
                                 .priority = options.priority});
}

Engine::Admission::Admission(Engine& engine) : engine_(engine), granted_(false) {
  detail::EngineCore& core = engine.core("Engine::try_push");
  detail::Recorder::check_not_recording("Engine::try_push", core);
  granted_ = core.try_admit();
}

Engine::Admission::~Admission() {
  if (granted_) engine_.core_->cancel_admission();
}

void Engine::check_push(VarList reads, VarList mutates, const PushOptions& options) const {
  check_lane("Engine::try_push", options.lane);
  core_->inspect({.reads = reads, .mutates = mutates, .options = &options, .is_tried = true});
}

std::uint64_t Engine::push_admitted(Admission& admission, detail::Task&& task, VarList reads,
                                    VarList mutates, const PushOptions& options) {
  check_lane("Engine::try_push", options.lane);
  admission.granted_ = false;
  return detail::submit(*core_, {.task = &task,
                                 .reads = reads,
                                 .mutates = mutates,
                                 .options = &options,
                                 .priority = options.priority,
                                 .admission = Submission::Admission::kAdmitted,
                                 .is_tried = true});
}

void Engine::wait_for_var(const Var& var) {
  detail::EngineCore& engine = core("Engine::wait_for_var");
  check_may_wait("Engine::wait_for_var", engine,
                 [&] { return engine.describe_writer(var.state_); });
  engine.wait_for_var(var.state_, /*reads_too=*/false);
}

void Engine::wait_for_var_unused(const Var& var) {
  detail::EngineCore& engine = core("Engine::wait_for_var_unused");
  check_may_wait("Engine::wait_for_var_unused", engine,
                 [&] { return engine.describe_writer(var.state_); });
  engine.wait_for_var(var.state_, /*reads_too=*/true);
}

void Engine::wait_for_all() {
  detail::EngineCore& engine = core("Engine::wait_for_all");
  check_may_wait("Engine::wait_for_all", engine, everything);
  engine.wait_for_all();
}

std::uint64_t Engine::version(const Var& var) const {
  return core("Engine::version").version(var.state_);
}

Recording Engine::record(UniqueFunction<void()> fn) {
  detail::EngineCore& engine = core("Engine::record");
  if (!fn) detail::refuse_null("Engine::record");
  detail::Recorder::check_not_recording("Engine::record", engine);
  detail::Recorder recorder(engine);
  fn();
  return Recording(recorder.finish().release());
}

ShutdownReport Engine::shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) {
  detail::EngineCore& engine = core("Engine::shutdown");
  detail::check_mode(mode);
  check_may_wait("Engine::shutdown", engine, everything);
  return engine.shutdown(mode, deadline);
}

const EngineOptions& Engine::options() const { return core("Engine::options").options(); }

std::vector<OpRecord> Engine::trace() const { return core("Engine::trace").trace(); }

}  // namespace heddle
