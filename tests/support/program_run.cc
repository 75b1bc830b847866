#include "tests/support/program_run.h"

#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine/base/thread.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"
#include "tests/support/made_error.h"

namespace heddle::support {
namespace {

/// A variable and the value that it orders access to. `readers` and `writer` say who is inside;
/// they are relaxed so that they hide no missing order of `value` from a race detector.
struct alignas(64) Slot {
  Var var;
  std::uint64_t value = 0;
  base::Atomic<int> readers{0};
  base::Atomic<int> writers{0};
  int last_runs = 0;
  std::uint64_t value_at_last = 0;
};

struct Group {
  CancelSource source;
  base::Atomic<bool> is_cancelled{false};
};

class Violations {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (texts_.size() < 10) texts_.push_back(text);
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(texts_, {});
  }

 private:
  base::Mutex mutex_;
  std::vector<std::string> texts_;
};

class Runner {
 public:
  Runner(const Program& program, const EngineOptions& options)
      : program_(program),
        slots_(static_cast<std::size_t>(program.shape.variables)),
        groups_(static_cast<std::size_t>(program.groups)) {
    history_.operations.resize(program.operations.size());
    engine_ = std::make_unique<Engine>(options);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].var = engine_->new_variable();
      slots_[i].value = initial_value(i);
    }
  }

  History run() {
    if (program_.threads.size() == 1) {
      run_steps(0);
    } else {
      run_pushers();
    }
    wait_for_all({Step::Kind::kWaitForAll, 0, std::numeric_limits<std::uint64_t>::max(), 0,
                  program_.threads[0].size()});
    finish();
    history_.violations = violations_.take();
    return std::move(history_);
  }

 private:
  /// Pushes one operation; `number` is its index in the program.
  std::uint64_t push(int number);
  std::uint64_t push_sync(const RandomOperation& operation, VarList reads, VarList mutates,
                          const PushOptions& options, int number);

  void run_pushers();
  void run_steps(std::size_t thread);
  void run_step(std::size_t thread, std::size_t step, std::uint64_t& last);
  void run_unnumbered(const Step& step, std::uint64_t& last);
  void wait_for(Waited waited);
  void wait_for_all(Waited waited);
  void note(Waited waited);
  void cancel(int number);
  void finish();

  void begin(int number, const RunContext& context, std::uint64_t& h);
  void write_and_leave(const RandomOperation& operation, std::uint64_t h);
  void leave(const RandomOperation& operation);
  void body(int number, const RunContext& context);
  void async_body(int number, const RunContext& context, Completion completion);
  void complete(const RandomOperation& operation, std::uint64_t h, Completion completion);

  Slot& slot(std::uint16_t index) { return slots_[index]; }

  std::uint64_t tick() { return clock_.fetch_add(1, std::memory_order_relaxed) + 1; }

  const Program& program_;
  std::vector<Slot> slots_;
  std::vector<Group> groups_;
  base::Atomic<std::uint64_t> clock_{0};  // relaxed, as are the counts of a slot
  History history_;
  base::Mutex history_mutex_;     // of markers, unnumbered, waits and cancels
  base::Mutex unnumbered_mutex_;  // one delete or clear at a time
  Violations violations_;
  ForeignThread foreign_;  // outlived by what it completes
  std::unique_ptr<Engine> engine_;
};

std::uint64_t Runner::push(int number) {
  const RandomOperation& operation = program_.operations[static_cast<std::size_t>(number)];
  std::vector<Var> reads;
  std::vector<Var> mutates;
  for (const std::uint16_t index : operation.reads()) reads.push_back(slot(index).var);
  for (const std::uint16_t index : operation.mutates()) mutates.push_back(slot(index).var);
  PushOptions options;
  options.device = operation.device;
  options.lane = operation.lane;
  options.priority = operation.priority;
  options.overwrites = operation.overwrites;
  if (operation.group != RandomOperation::kNone) {
    options.cancel = groups_[static_cast<std::size_t>(operation.group)].source.token();
  }
  Observed& observed = history_.operations[static_cast<std::size_t>(number)];
  try {
    if (is_async(operation.ending)) {
      observed.sequence = engine_->push_async(
          [this, number](RunContext& context, Completion completion) {
            async_body(number, context, std::move(completion));
          },
          reads, mutates, options);
    } else {
      observed.sequence = push_sync(operation, reads, mutates, options, number);
    }
  } catch (const std::invalid_argument&) {
    observed.refused = true;
  }
  return observed.sequence;
}

std::uint64_t Runner::push_sync(const RandomOperation& operation, VarList reads, VarList mutates,
                                const PushOptions& options, int number) {
  auto fn = [this, number](RunContext& context) { body(number, context); };
  if (operation.try_first) {
    if (const auto sequence = engine_->try_push(fn, reads, mutates, options)) return *sequence;
  }
  return engine_->push(fn, reads, mutates, options);
}

void Runner::run_pushers() {
  Gate start;
  std::vector<base::Thread> threads;
  for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
    threads.push_back(base::start_thread("pusher", [this, &start, thread] {
      start.wait();
      run_steps(thread);
    }));
  }
  start.open();
  for (base::Thread& thread : threads) thread.join();
}

void Runner::run_steps(std::size_t thread) {
  std::uint64_t last = 0;
  try {
    for (std::size_t i = 0; i < program_.threads[thread].size(); ++i) run_step(thread, i, last);
  } catch (const std::exception& error) {
    violations_.add(std::string("a pushing thread got: ") + error.what());
  }
}

void Runner::run_step(std::size_t thread, std::size_t number, std::uint64_t& last) {
  const Step& step = program_.threads[thread][number];
  switch (step.kind) {
    case Step::Kind::kPush: {
      const std::uint64_t sequence = push(step.index);
      if (sequence == 0) break;
      if (sequence <= last) violations_.add("a sequence number went back within a thread");
      last = sequence;
      break;
    }
    case Step::Kind::kDelete:
    case Step::Kind::kClear:
      run_unnumbered(step, last);
      break;
    case Step::Kind::kWaitForVar:
    case Step::Kind::kWaitForUnused:
      wait_for({step.kind, static_cast<std::uint16_t>(step.index), last, thread, number});
      break;
    case Step::Kind::kWaitForAll:
      wait_for_all({step.kind, 0, last, thread, number});
      break;
    case Step::Kind::kCancel:
      cancel(step.index);
      break;
  }
}

void Runner::run_unnumbered(const Step& step, std::uint64_t& last) {
  const auto index = static_cast<std::uint16_t>(step.index);
  Slot& target = slot(index);
  const std::lock_guard one_at_a_time(unnumbered_mutex_);
  Unnumbered event{step.kind, index, engine_->push([] {}, {}, {}), 0, false};
  try {
    if (step.kind == Step::Kind::kClear) {
      engine_->clear_error(target.var);
    } else {
      engine_->delete_variable(target.var, [&target] {
        if (target.readers.load(std::memory_order_relaxed) != 0) ++target.last_runs;
        if (target.writers.load(std::memory_order_relaxed) != 0) ++target.last_runs;
        ++target.last_runs;
        target.value_at_last = target.value;
      });
    }
  } catch (const std::invalid_argument&) {
    event.refused = true;
  }
  event.after = last = engine_->push([] {}, {}, {});
  const std::lock_guard lock(history_mutex_);
  history_.markers.push_back(event.before);
  history_.markers.push_back(event.after);
  history_.unnumbered.push_back(event);
}

/// Throws std::invalid_argument if `var` is deleted. Returns the operation that poisons it, or 0.
std::uint64_t wait_for_root(Engine& engine, const Var& var, bool unused = false) {
  try {
    unused ? engine.wait_for_var_unused(var) : engine.wait_for_var(var);
  } catch (const OpError& error) {
    return error.sequence();
  } catch (const Cancelled& error) {
    const std::string_view text = error.what();
    return std::stoull(std::string(text.substr(text.find('#') + 1)));
  }
  return 0;
}

void Runner::wait_for(Waited waited) {
  Slot& target = slot(waited.variable);
  try {
    const bool unused = waited.kind == Step::Kind::kWaitForUnused;
    const std::uint64_t root = wait_for_root(*engine_, target.var, unused);
    waited.returned_at = tick();
    if (root != 0) waited.roots.push_back(root);
    // Alone, the thread knows that nothing writes the variable until it pushes on.
    const bool alone = program_.threads.size() == 1 && !program_.shape.children;
    if (alone && root == 0) waited.value = target.value;
    waited.version = engine_->version(target.var);
  } catch (const std::invalid_argument&) {
    waited.refused = waited.returned_at == 0;  // else it was deleted meanwhile
  }
  note(std::move(waited));
}

void Runner::cancel(int number) {
  Group& group = groups_[static_cast<std::size_t>(number)];
  {
    const std::lock_guard lock(history_mutex_);
    history_.cancels.push_back({number, history_.waits.size()});
  }
  group.source.cancel();
  group.is_cancelled.store(true);
}

void Runner::note(Waited waited) {
  const std::lock_guard lock(history_mutex_);
  history_.waits.push_back(std::move(waited));
}

void Runner::wait_for_all(Waited waited) {
  try {
    engine_->wait_for_all();
  } catch (const AggregateError& error) {
    for (const OpError& each : error.errors()) waited.roots.push_back(each.sequence());
    if (error.omitted() != 0) violations_.add("wait_for_all omitted errors");
  }
  waited.returned_at = tick();
  note(std::move(waited));
}

void Runner::finish() {
  history_.variables.resize(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Final& variable = history_.variables[i];
    variable.value = slots_[i].value;
    variable.last_runs = slots_[i].last_runs;
    variable.value_at_last = slots_[i].value_at_last;
    try {
      variable.version = engine_->version(slots_[i].var);
      variable.root = wait_for_root(*engine_, slots_[i].var);
    } catch (const std::invalid_argument&) {
      variable.deleted = true;
    }
  }
}

void Runner::begin(int number, const RunContext& context, std::uint64_t& h) {
  const RandomOperation& operation = program_.operations[static_cast<std::size_t>(number)];
  Observed& observed = history_.operations[static_cast<std::size_t>(number)];
  ++observed.runs;
  observed.context_sequence = context.sequence;
  if (operation.group != RandomOperation::kNone &&
      groups_[static_cast<std::size_t>(operation.group)].is_cancelled.load() &&
      !context.stop_requested()) {
    violations_.add("an operation of a cancelled group is not asked to stop");
  }
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const auto check = [this, &observed](std::uint16_t index, int others) {
    if (others != 0) violations_.add("conflicting operations overlap");
    try {
      observed.versions.push_back(engine_->version(slot(index).var));
    } catch (const std::invalid_argument&) {
      observed.versions.push_back(~std::uint64_t{0});  // deleted meanwhile, by a later operation
    }
  };
  for (const std::uint16_t index : distinct_reads(operation)) {
    slot(index).readers.fetch_add(1, kRelaxed);
    check(index, slot(index).writers.load(kRelaxed));
  }
  for (const std::uint16_t index : distinct_mutates(operation)) {
    const int writers = slot(index).writers.fetch_add(1, kRelaxed);
    check(index, writers + slot(index).readers.load(kRelaxed));
  }
  h = digest(operation, static_cast<std::size_t>(number),
             [this](std::uint16_t index) { return slot(index).value; });
  if (operation.child != RandomOperation::kNone) push(operation.child);
}

void Runner::leave(const RandomOperation& operation) {
  const auto number = static_cast<std::size_t>(&operation - program_.operations.data());
  history_.operations[number].left_at = tick();
  constexpr auto kRelaxed = std::memory_order_relaxed;
  for (const std::uint16_t index : distinct_reads(operation)) {
    slot(index).readers.fetch_sub(1, kRelaxed);
  }
  for (const std::uint16_t index : distinct_mutates(operation)) {
    slot(index).writers.fetch_sub(1, kRelaxed);
  }
}

void Runner::write_and_leave(const RandomOperation& operation, std::uint64_t h) {
  for (const std::uint16_t index : distinct_mutates(operation)) {
    slot(index).value = written(operation, slot(index).value, h);
  }
  leave(operation);
}

void Runner::body(int number, const RunContext& context) {
  const RandomOperation& operation = program_.operations[static_cast<std::size_t>(number)];
  std::uint64_t h = 0;
  begin(number, context, h);
  if (operation.ending == Ending::kReturn) return write_and_leave(operation, h);
  leave(operation);
  if (operation.ending == Ending::kThrowNumber) throw number;
  throw std::runtime_error("a random failure");
}

void Runner::async_body(int number, const RunContext& context, Completion completion) {
  const RandomOperation& operation = program_.operations[static_cast<std::size_t>(number)];
  std::uint64_t h = 0;
  begin(number, context, h);
  if (operation.ending == Ending::kDone) return complete(operation, h, std::move(completion));
  foreign_.post([this, &operation, h, completion = std::move(completion)]() mutable {
    complete(operation, h, std::move(completion));
  });
}

void Runner::complete(const RandomOperation& operation, std::uint64_t h, Completion completion) {
  if (fails(operation.ending)) {
    leave(operation);
    if (operation.ending == Ending::kFailElsewhere) {
      completion.fail(made_error("failed elsewhere"));
    }
    return;
  }
  write_and_leave(operation, h);
  completion.done();
}

}  // namespace

History run_program(const Program& program, const EngineOptions& options) {
  return Runner(program, options).run();
}

}  // namespace heddle::support
