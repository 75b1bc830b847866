#include "engine/recorded_program.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "heddle/recording.h"

#include "engine/lane_queue.h"
#include "engine/operation_scope.h"
#include "engine/recorded_pieces.h"
#include "engine/recorder.h"

namespace heddle {
namespace detail {

/// Keeps the program alive until the operation's callable is destroyed.
class ProgramRun::Hold {
 public:
  explicit Hold(RecordedProgram& program) noexcept : program_(&program) {}
  Hold(Hold&& other) noexcept : program_(std::exchange(other.program_, nullptr)) {}
  Hold& operator=(Hold&&) = delete;
  ~Hold() {
    if (program_ != nullptr) program_->release(1);
  }

 private:
  RecordedProgram* program_;
};

void RecordedProgram::add(RecordedOp&& op, RecordedCall&& call, const Submission& submission) {
  const std::size_t before = variables_.size();
  std::unordered_set<const VarState*> named;
  const auto add_list = [&](const VarList& list, std::uint32_t& count) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!named.insert(list[i]).second) continue;
      variables_.push_back(EngineCore::handle(list[i]));
      ++count;
    }
  };
  try {
    if (submission.mutates.size() == 0) variables_.emplace_back();  // room for a hidden one
    op.first_variable = variables_.size();
    add_list(submission.mutates, op.mutates);
    add_list(submission.reads, op.reads);
    op.is_async = std::holds_alternative<AsyncTask>(call.function);
    ops_.push_back(std::move(op));
    calls_.push_back(std::move(call));
  } catch (...) {
    variables_.resize(before);
    ops_.resize(calls_.size());
    throw;
  }
}

std::size_t RecordedProgram::add_step(RunStep step) {
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

void RecordedProgram::finish() {
  for (RecordedOp& op : ops_) {  // which do not move any more
    op.options.name = op.name;
    op.options.copies = op.copies;
  }
  add_hidden_variables();
  for (RecordedOp& op : ops_) {
    // It names other variables than were pushed: some twice, and not the hidden one.
    const bool has_many = op.mutates + op.reads > Operation::kInlineAccesses;
    const unsigned others = op.route.flags & ~unsigned{Operation::kManyAccesses};
    op.route.flags = static_cast<std::uint16_t>(others | (has_many ? Operation::kManyAccesses : 0));
    op.route.has_extras = op.route.has_extras || has_many;
  }
  choose_holders();
  if (may_have_graph()) graph_ = RecordedGraph::make(ops_, variables_);
  find_pools();
  cut_into_pieces(ops_, variables_);
}

bool RecordedProgram::may_have_graph() const {
  constexpr unsigned kHarmless =
      Operation::kOverwrites | Operation::kBrief | Operation::kNamed | Operation::kManyAccesses;
  return !ops_.empty() && std::all_of(ops_.begin(), ops_.end(), [this](const RecordedOp& op) {
    const unsigned harmless = kHarmless | Operation::flags_of(op.kind, op.options.lane);
    return op.kind == Submission::Kind::kRun && !op.is_async && op.route.queue != nullptr &&
           op.route.queue == ops_.front().route.queue && !op.route.queue->is_stream() &&
           op.priority == ops_.front().priority && (op.route.flags & ~harmless) == 0;
  });
}

void RecordedProgram::find_pools() {
  const bool may_leave = std::all_of(ops_.begin(), ops_.end(), [this](const RecordedOp& op) {
    return op.route.may_leave && op.priority == ops_.front().priority;
  });
  if (!may_leave) return;
  for (const RecordedOp& op : ops_) {
    WorkerPool* const pool = op.route.queue->pool();
    if (std::find(pools_.begin(), pools_.end(), pool) == pools_.end()) pools_.push_back(pool);
    has_many_ = has_many_ || op.has_many();
  }
}

void RecordedProgram::add_hidden_variables() {
  std::unordered_set<const VarState*> mutated;
  for (const RecordedOp& op : ops_) {
    for (const Var& var : variables_of(op).first(op.mutates)) mutated.insert(VarRef(var).state());
  }
  for (RecordedOp& op : ops_) {
    const std::span<const Var> reads = variables_of(op).subspan(op.mutates);
    const bool is_ordered =
        op.mutates != 0 || std::any_of(reads.begin(), reads.end(), [&](const Var& var) {
          return mutated.contains(VarRef(var).state());
        });
    if (is_ordered) continue;
    variables_[--op.first_variable] = engine_->new_variable("recorded operation");
    op.mutates = 1;
    op.options.overwrites = true;
    op.route.flags |= Operation::kOverwrites;
  }
}

void RecordedProgram::choose_holders() {
  struct Later {
    bool use = false;
    bool write = false;
  };
  std::unordered_map<VarState*, Later> later;  // what follows, of operations with callables
  for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
    const bool called = op->kind == Submission::Kind::kRun;
    const std::span<const Var> variables = variables_of(*op);
    op->holds = called;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const bool writes = i < op->mutates;
      Later& of_variable = later[VarRef(variables[i]).state()];
      if (!called) continue;
      if (writes ? of_variable.use : of_variable.write) op->holds = false;
      of_variable.use = true;
      of_variable.write = of_variable.write || writes;
    }
    if (op->holds) ++holding_;
  }
  for (const auto& named : later) distinct_.push_back(named.first);
}

std::uint64_t RecordedProgram::run() {
  check_process(engine_->process(), "Recording::run");
  if (engine_->is_retired()) {
    throw std::invalid_argument("[Recording::run] the engine of the recording is gone");
  }
  Recorder::check_not_recording("Recording::run", *engine_);
  if (ops_.empty() && steps_.empty()) return 0;
  ProgramRun run(*this);
  if (ops_.empty()) return 0;
  const std::uint64_t first = engine_->submit_block(run);
  was_run_.store(true, std::memory_order_relaxed);
  return first;
}

void RecordedProgram::release(std::size_t count) noexcept {
  if (holders_.fetch_sub(count, std::memory_order_acq_rel) != count) return;
  // In a forked child locks may be held for ever that the destructors of callables would take.
  if (!in_forked_child(engine_->process())) delete this;
}

RecordedProgram::~RecordedProgram() {
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    std::exception_ptr error;  // outlives its handler, which keeps what it handles
    try {
      std::visit([](auto& function) { function.reset(); }, calls_[i].function);
    } catch (...) {
      error = std::current_exception();
    }
    if (error != nullptr) report(ops_[i], std::move(error));
  }
}

/// What the destructor of a callable threw: no operation is left that could fail with it.
void RecordedProgram::report(const RecordedOp& op, std::exception_ptr error) noexcept {
  const OperationScope* const inside = OperationScope::of(*engine_);
  const std::uint64_t sequence = inside != nullptr ? inside->sequence() : 0;
  engine_->report(failed(sequence, op.name, op.options.device, std::move(error)));
}

ProgramRun::ProgramRun(RecordedProgram& program)
    : program_(program), captures_(program.may_capture()), holds_left_(program.holding_) {
  reserved_.reserve(program.steps_.size());
  for (RunStep& step : program.steps_) reserved_.push_back(step());
  program.hold(holds_left_);
}

ProgramRun::~ProgramRun() {
  // The handle that run() was called on holds the program, so this is not the end of it.
  if (holds_left_ != 0) program_.release(holds_left_);
}

ProgramRun::Hold ProgramRun::take_hold() {
  --holds_left_;
  return Hold(program_);
}

Task ProgramRun::replay(std::size_t i) {
  const RecordedOp& op = program_.ops_[i];
  auto& function = program_.calls_[i].function;
  if (op.step != RecordedOp::kNoStep) {
    const auto call = [&fn = std::get<ReservingTask>(function), reserved = reserved_[op.step]](
                          RunContext& context) { fn(context, reserved); };
    if (!op.holds) return call;
    return [call, hold = take_hold()](RunContext& context) { call(context); };
  }
  const auto call = [&fn = std::get<Task>(function)](RunContext& context) { fn(context); };
  if (!op.holds) return call;
  return [call, hold = take_hold()](RunContext& context) { call(context); };
}

AsyncTask ProgramRun::replay_async(std::size_t i) {
  const auto call = [&fn = std::get<AsyncTask>(program_.calls_[i].function)](
                        RunContext& context, Completion completion) {
    fn(context, std::move(completion));
  };
  if (!program_.ops_[i].holds) return call;
  return [call, hold = take_hold()](RunContext& context, Completion completion) {
    call(context, std::move(completion));
  };
}

}  // namespace detail

Recording& Recording::operator=(Recording&& other) noexcept {
  Recording taken(std::move(other));
  std::swap(program_, taken.program_);
  return *this;
}

Recording::~Recording() {
  if (program_ != nullptr) program_->release(1);
}

std::uint64_t Recording::run() const {
  if (program_ == nullptr) {
    throw std::invalid_argument(
        "[Recording::run] the recording refers to nothing: expected one made by Engine::record");
  }
  return program_->run();
}

std::size_t Recording::size() const noexcept { return program_ != nullptr ? program_->size() : 0; }

}  // namespace heddle
