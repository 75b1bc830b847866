#include "tests/support/program_oracle.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "tests/support/wait_oracle.h"

namespace heddle::support {
namespace {

constexpr std::uint64_t kDeletedMeanwhile = ~std::uint64_t{0};

struct Event {
  enum class Kind : std::uint8_t { kNothing, kOperation, kMarker, kDelete, kClear };
  Kind kind = Kind::kNothing;
  int index = 0;  ///< of the operation or the variable
};

struct VariableModel {
  std::uint64_t value = 0;
  bool defined = true;  ///< false: a skipped operation that was issued already may have written it
  std::uint64_t root = 0;
  std::uint64_t version = 0;
  bool deleted = false;
  bool defined_at_delete = false;
  std::uint64_t value_at_delete = 0;
};

class Replay {
 public:
  Replay(const Program& program, const History& history)
      : program_(program),
        history_(history),
        variables_(static_cast<std::size_t>(program.shape.variables)),
        outcomes_{std::vector<Timeline>(variables_.size()), {}},
        exact_(program.threads.size() == 1 && !program.shape.children) {
    for (std::size_t i = 0; i < variables_.size(); ++i) variables_[i].value = initial_value(i);
  }

  std::vector<std::string> run() {
    for (const std::string& violation : history_.violations) complain(violation);
    if (!order_events()) return differences_;
    check_exact_waits(0);
    for (std::uint64_t sequence = 1; sequence < events_.size(); ++sequence) {
      apply(sequence);
      check_exact_waits(sequence);
    }
    check_exact_waits(std::numeric_limits<std::uint64_t>::max());
    if (!exact_) check_all_reported();
    check(check_waits(program_, history_, outcomes_));
    check(check_cancels(program_, history_, outcomes_));
    check_children_and_refusals();
    check_variables();
    return differences_;
  }

 private:
  void complain(const std::string& text) {
    if (differences_.size() < 10) differences_.push_back(text);
  }
  void check(const std::vector<std::string>& differences) {
    for (const std::string& difference : differences) complain(difference);
  }
  void expect(bool holds, const std::string& what, std::uint64_t sequence) {
    if (!holds) complain("#" + std::to_string(sequence) + ": " + what);
  }

  bool order_events();
  bool place(std::uint64_t sequence, Event event);
  bool place_unnumbered(const Unnumbered& unnumbered);

  void apply(std::uint64_t sequence);
  void apply_operation(std::uint64_t sequence, int number);
  std::uint64_t inherited_root(const RandomOperation& operation) const;
  void check_versions(std::uint64_t sequence, const RandomOperation& operation,
                      const Observed& observed);
  void execute(std::uint64_t sequence, int number);
  void set_root(int index, std::uint64_t sequence, std::uint64_t root);

  void check_exact_waits(std::uint64_t sequence);
  void check_exact_wait(const Waited& waited);
  void check_all_reported();
  void check_children_and_refusals();
  void check_variables();

  const Program& program_;
  const History& history_;
  std::vector<Event> events_;  // by sequence number
  std::vector<VariableModel> variables_;
  Outcomes outcomes_;
  std::set<std::uint64_t> roots_;
  std::set<std::uint64_t> reported_;
  /// Failures of operations that are skipped by the replay but had been issued, and so ran.
  std::set<std::uint64_t> possible_roots_;
  std::size_t next_wait_ = 0;
  /// One pushing thread and no operation that pushes: each wait's outcome is known.
  const bool exact_;
  std::vector<std::string> differences_;
};

bool Replay::place(std::uint64_t sequence, Event event) {
  if (sequence >= events_.size()) events_.resize(sequence + 1);
  if (sequence == 0 || events_[sequence].kind != Event::Kind::kNothing) {
    complain("sequence number " + std::to_string(sequence) + " was given twice or is 0");
    return false;
  }
  events_[sequence] = event;
  return true;
}

bool Replay::place_unnumbered(const Unnumbered& unnumbered) {
  if (unnumbered.refused) return true;
  std::uint64_t missing = unnumbered.before + 1;
  while (missing < unnumbered.after && events_[missing].kind != Event::Kind::kNothing) ++missing;
  if (missing >= unnumbered.after) {
    complain("delete_variable or clear_error took no sequence number");
    return false;
  }
  const bool deletes = unnumbered.kind == Step::Kind::kDelete;
  return place(missing,
               {deletes ? Event::Kind::kDelete : Event::Kind::kClear, unnumbered.variable});
}

bool Replay::order_events() {
  for (std::size_t i = 0; i < history_.operations.size(); ++i) {
    const std::uint64_t sequence = history_.operations[i].sequence;
    if (sequence == 0) continue;
    if (!place(sequence, {Event::Kind::kOperation, static_cast<int>(i)})) return false;
  }
  for (const std::uint64_t sequence : history_.markers) {
    if (!place(sequence, {Event::Kind::kMarker, 0})) return false;
  }
  for (const Unnumbered& unnumbered : history_.unnumbered) {
    if (!place_unnumbered(unnumbered)) return false;
  }
  for (std::uint64_t sequence = 1; sequence < events_.size(); ++sequence) {
    if (events_[sequence].kind != Event::Kind::kNothing) continue;
    complain("sequence number " + std::to_string(sequence) + " was given to nothing");
    return false;
  }
  return true;
}

void Replay::apply(std::uint64_t sequence) {
  const Event& event = events_[sequence];
  VariableModel& variable =
      variables_[static_cast<std::size_t>(event.kind == Event::Kind::kOperation ? 0 : event.index)];
  switch (event.kind) {
    case Event::Kind::kOperation:
      apply_operation(sequence, event.index);
      break;
    case Event::Kind::kClear:
      expect(!variable.deleted, "clear_error took a deleted variable", sequence);
      set_root(event.index, sequence, 0);
      break;
    case Event::Kind::kDelete:
      expect(!variable.deleted, "delete_variable took a deleted variable", sequence);
      variable.deleted = true;
      variable.defined_at_delete = variable.defined;
      variable.value_at_delete = variable.value;
      break;
    case Event::Kind::kMarker:
    case Event::Kind::kNothing:
      break;
  }
}

std::uint64_t Replay::inherited_root(const RandomOperation& operation) const {
  std::uint64_t root = 0;
  const auto consider = [this, &root](std::uint16_t index) {
    const std::uint64_t other = variables_[index].root;
    if (other != 0 && (root == 0 || other < root)) root = other;
  };
  for (const std::uint16_t index : distinct_reads(operation)) consider(index);
  if (operation.overwrites) return root;
  for (const std::uint16_t index : operation.mutates()) consider(index);
  return root;
}

void Replay::apply_operation(std::uint64_t sequence, int number) {
  const RandomOperation& operation = program_.operations[static_cast<std::size_t>(number)];
  const Observed& observed = history_.operations[static_cast<std::size_t>(number)];
  for (const std::uint16_t index : operation.reads()) {
    expect(!variables_[index].deleted, "push took a deleted variable", sequence);
  }
  for (const std::uint16_t index : operation.mutates()) {
    expect(!variables_[index].deleted, "push took a deleted variable", sequence);
  }
  if (observed.runs > 0) {
    expect(observed.context_sequence == sequence, "RunContext has another sequence", sequence);
    check_versions(sequence, operation, observed);
  }
  const std::vector<std::uint16_t> mutated = distinct_mutates(operation);
  std::uint64_t root = inherited_root(operation);
  if (root == 0 && observed.runs == 0) {
    outcomes_.cancelled.push_back(static_cast<std::size_t>(number));
    root = sequence;
  }
  if (root == 0) {
    expect(observed.runs == 1, "ran " + std::to_string(observed.runs) + " times", sequence);
    execute(sequence, number);
  } else {
    const int allowed = operation.device.is_gpu() ? 1 : 0;
    expect(observed.runs <= allowed, "ran although it reads or mutates poison", sequence);
    if (observed.runs > 0 && fails(operation.ending)) possible_roots_.insert(sequence);
    for (const std::uint16_t index : mutated) {
      set_root(index, sequence, root);
      if (observed.runs > 0) variables_[index].defined = false;
    }
  }
  for (const std::uint16_t index : mutated) {
    ++variables_[index].version;
    outcomes_.variables[index].mutators.push_back(sequence);
  }
}

void Replay::set_root(int index, std::uint64_t sequence, std::uint64_t root) {
  const auto at = static_cast<std::size_t>(index);
  if (variables_[at].root == root) return;
  variables_[at].root = root;
  outcomes_.variables[at].poison.push_back({sequence, root});
}

void Replay::check_versions(std::uint64_t sequence, const RandomOperation& operation,
                            const Observed& observed) {
  std::vector<std::uint16_t> used = distinct_reads(operation);
  const std::vector<std::uint16_t> mutated = distinct_mutates(operation);
  used.insert(used.end(), mutated.begin(), mutated.end());
  for (std::size_t i = 0; i < used.size() && i < observed.versions.size(); ++i) {
    const std::uint64_t seen = observed.versions[i];
    if (seen == kDeletedMeanwhile) continue;
    const std::uint64_t writes = variables_[used[i]].version;
    // On a GPU the writes before may be issued and not yet counted as ended.
    const bool right = operation.device.is_gpu() ? seen <= writes : seen == writes;
    expect(right,
           "variable " + std::to_string(used[i]) + " had version " + std::to_string(seen) +
               ", expected " + std::to_string(writes),
           sequence);
  }
}

void Replay::execute(std::uint64_t sequence, int number) {
  const RandomOperation& operation = program_.operations[static_cast<std::size_t>(number)];
  const std::vector<std::uint16_t> mutated = distinct_mutates(operation);
  if (fails(operation.ending)) {
    roots_.insert(sequence);
    for (const std::uint16_t index : mutated) set_root(index, sequence, sequence);
    return;
  }
  bool defined = true;
  for (const std::uint16_t index : operation.reads()) defined &= variables_[index].defined;
  const std::uint64_t h = digest(operation, static_cast<std::size_t>(number),
                                 [this](std::uint16_t index) { return variables_[index].value; });
  for (const std::uint16_t index : mutated) {
    VariableModel& variable = variables_[index];
    variable.defined = defined && (operation.overwrites || variable.defined);
    variable.value = written(operation, variable.value, h);
    set_root(index, sequence, 0);
  }
}

void Replay::check_exact_waits(std::uint64_t sequence) {
  if (!exact_) return;
  while (next_wait_ < history_.waits.size() && history_.waits[next_wait_].after == sequence) {
    check_exact_wait(history_.waits[next_wait_++]);
  }
}

void Replay::check_exact_wait(const Waited& waited) {
  std::set<std::uint64_t> thrown(waited.roots.begin(), waited.roots.end());
  if (waited.kind == Step::Kind::kWaitForAll) {
    for (const std::uint64_t root : possible_roots_) thrown.erase(root);
    std::set<std::uint64_t> expected;
    std::set_difference(roots_.begin(), roots_.end(), reported_.begin(), reported_.end(),
                        std::inserter(expected, expected.end()));
    expect(thrown == expected,
           "wait_for_all threw " + std::to_string(thrown.size()) + " errors, expected " +
               std::to_string(expected.size()) + " or others",
           waited.after);
    expect(std::is_sorted(waited.roots.begin(), waited.roots.end()),
           "wait_for_all threw errors out of order", waited.after);
  } else {
    const VariableModel& variable = variables_[waited.variable];
    const bool poisoned = !variable.deleted && variable.root != 0;
    expect(waited.refused == variable.deleted, "a wait on a deleted variable", waited.after);
    expect(thrown == (poisoned ? std::set{variable.root} : std::set<std::uint64_t>{}),
           "a wait for a variable threw another error", waited.after);
    const bool comparable = waited.value.has_value() && variable.defined;
    expect(!comparable || *waited.value == variable.value, "a wait returned before a write",
           waited.after);
  }
  reported_.insert(thrown.begin(), thrown.end());
}

void Replay::check_all_reported() {
  std::set<std::uint64_t> aggregated;
  std::set<std::uint64_t> cancelled;
  for (const std::size_t number : outcomes_.cancelled) {
    cancelled.insert(history_.operations[number].sequence);
  }
  for (const Waited& waited : history_.waits) {
    for (const std::uint64_t root : waited.roots) {
      if (waited.kind != Step::Kind::kWaitForAll && cancelled.contains(root)) continue;
      const bool real = roots_.contains(root) || possible_roots_.contains(root);
      expect(real, "an error was thrown that is no root", root);
      reported_.insert(root);
      if (waited.kind == Step::Kind::kWaitForAll) {
        expect(aggregated.insert(root).second, "wait_for_all threw an error twice", root);
      }
    }
  }
  for (const std::uint64_t root : roots_) {
    expect(reported_.contains(root), "its error was lost", root);
  }
}

void Replay::check_children_and_refusals() {
  for (std::size_t i = 0; i < program_.operations.size(); ++i) {
    const RandomOperation& operation = program_.operations[i];
    const Observed& observed = history_.operations[i];
    if (operation.child != RandomOperation::kNone) {
      const Observed& child = history_.operations[static_cast<std::size_t>(operation.child)];
      const bool pushed = child.sequence != 0 || child.refused;
      expect(pushed == (observed.runs > 0), "a pushing operation did not push", observed.sequence);
      expect(child.sequence == 0 || child.sequence > observed.sequence,
             "an operation was pushed before the one that pushes it", child.sequence);
    }
    if (!observed.refused) continue;
    bool deleted = false;
    for (const std::uint16_t index : operation.reads()) deleted |= variables_[index].deleted;
    for (const std::uint16_t index : operation.mutates()) deleted |= variables_[index].deleted;
    expect(deleted, "push refused variables that were never deleted", observed.sequence);
  }
}

void Replay::check_variables() {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const VariableModel& model = variables_[i];
    const Final& got = history_.variables[i];
    const std::string name = "variable " + std::to_string(i) + ": ";
    if (model.defined && got.value != model.value) complain(name + "another value");
    if (got.deleted != model.deleted) complain(name + "deleted or not");
    if (got.last_runs != (model.deleted ? 1 : 0)) complain(name + "last did not run once, alone");
    if (model.deleted) {
      if (model.defined_at_delete && got.value_at_last != model.value_at_delete) {
        complain(name + "last ran before an operation of its variable had ended");
      }
      continue;
    }
    if (got.version != model.version) {
      complain(name + "version " + std::to_string(got.version) + ", expected " +
               std::to_string(model.version));
    }
    if (got.root != model.root) {
      complain(name + "poisoned by #" + std::to_string(got.root) + ", expected #" +
               std::to_string(model.root));
    }
  }
}

}  // namespace

std::vector<std::string> check_history(const Program& program, const History& history) {
  return Replay(program, history).run();
}

}  // namespace heddle::support
