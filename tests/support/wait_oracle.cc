#include "tests/support/wait_oracle.h"

#include <algorithm>
#include <limits>

namespace heddle::support {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMostDifferences = 10;

/// When operations had read and written, the latest of those up to a sequence number.
class Ends {
 public:
  /// In the order of the numbers.
  void add(const Observed& observed) {
    sequences_.push_back(observed.sequence);
    latest_.push_back(std::max(latest_.empty() ? 0 : latest_.back(), observed.left_at));
  }
  std::uint64_t latest(std::uint64_t up_to) const {
    const auto after = std::upper_bound(sequences_.begin(), sequences_.end(), up_to);
    const auto count = static_cast<std::size_t>(after - sequences_.begin());
    return count == 0 ? 0 : latest_[count - 1];
  }

 private:
  std::vector<std::uint64_t> sequences_;
  std::vector<std::uint64_t> latest_;
};

/// Those that one wait or another waits for.
struct VariableEnds {
  Ends mutators;
  Ends all;
};

class WaitOracle {
 public:
  WaitOracle(const Program& program, const History& history, const Outcomes& outcomes)
      : program_(program),
        history_(history),
        outcomes_(outcomes),
        variables_(outcomes.variables.size()) {
    list_ends();
  }

  std::vector<std::string> run() {
    for (const Waited& waited : history_.waits) {
      if (waited.refused) continue;
      if (ends_for(waited).latest(waited.after) > waited.returned_at) {
        complain(waited, "returned before all that it waits for had ended");
      }
      if (waited.kind != Step::Kind::kWaitForAll) check_variable(waited);
    }
    return std::move(differences_);
  }

 private:
  void complain(const Waited& waited, const std::string& text) {
    if (differences_.size() >= kMostDifferences) return;
    differences_.push_back("thread " + std::to_string(waited.thread) + ", step " +
                           std::to_string(waited.step) + ": the wait " + text);
  }

  void list_ends();
  const Ends& ends_for(const Waited& waited) const;
  void check_variable(const Waited& waited);
  bool may_throw(const Waited& waited, std::uint64_t root) const;
  std::uint64_t next_push(const Waited& waited) const;

  const Program& program_;
  const History& history_;
  const Outcomes& outcomes_;
  std::vector<VariableEnds> variables_;
  Ends all_;
  std::vector<std::string> differences_;
};

void WaitOracle::list_ends() {
  std::vector<std::size_t> pushed;
  for (std::size_t i = 0; i < history_.operations.size(); ++i) {
    if (history_.operations[i].sequence != 0) pushed.push_back(i);
  }
  std::sort(pushed.begin(), pushed.end(), [this](std::size_t a, std::size_t b) {
    return history_.operations[a].sequence < history_.operations[b].sequence;
  });
  for (const std::size_t number : pushed) {
    const Observed& observed = history_.operations[number];
    all_.add(observed);
    for (const std::uint16_t index : distinct_mutates(program_.operations[number])) {
      variables_[index].mutators.add(observed);
      variables_[index].all.add(observed);
    }
    for (const std::uint16_t index : distinct_reads(program_.operations[number])) {
      variables_[index].all.add(observed);
    }
  }
}

const Ends& WaitOracle::ends_for(const Waited& waited) const {
  if (waited.kind == Step::Kind::kWaitForAll) return all_;
  const VariableEnds& ends = variables_[waited.variable];
  return waited.kind == Step::Kind::kWaitForVar ? ends.mutators : ends.all;
}

/// The number of the first operation that the thread pushed after a wait.
std::uint64_t WaitOracle::next_push(const Waited& waited) const {
  const std::vector<Step>& steps = program_.threads[waited.thread];
  for (std::size_t i = waited.step; i < steps.size(); ++i) {
    if (steps[i].kind != Step::Kind::kPush) continue;
    const Observed& pushed = history_.operations[static_cast<std::size_t>(steps[i].index)];
    if (pushed.sequence != 0) return pushed.sequence;
  }
  return kNever;
}

void WaitOracle::check_variable(const Waited& waited) {
  const auto& mutators = outcomes_.variables[waited.variable].mutators;
  const auto ended = std::upper_bound(mutators.begin(), mutators.end(), waited.after);
  const auto count = static_cast<std::uint64_t>(ended - mutators.begin());
  if (waited.version.has_value() && *waited.version < count) {
    complain(waited, "left version " + std::to_string(*waited.version) + ", expected " +
                         std::to_string(count) + " or more");
  }
  const std::uint64_t root = waited.roots.empty() ? 0 : waited.roots.front();
  if (may_throw(waited, root)) return;
  complain(waited, root == 0 ? "threw nothing in spite of poison"
                             : "threw #" + std::to_string(root) + ", which did not poison it then");
}

bool WaitOracle::may_throw(const Waited& waited, std::uint64_t root) const {
  const std::uint64_t end = next_push(waited);
  std::uint64_t poison = 0;
  for (const Timeline::Poison& change : outcomes_.variables[waited.variable].poison) {
    if (change.from >= end) break;
    if (change.from > waited.after && poison == root) return true;
    poison = change.root;
  }
  return poison == root;
}

/// By group: the last operation that was known to have ended when it was cancelled.
std::vector<std::uint64_t> ended_before_cancel(const Program& program, const History& history) {
  std::vector<std::uint64_t> result(static_cast<std::size_t>(program.groups), kNever);
  for (const CancelledGroup& cancel : history.cancels) {
    std::uint64_t ended = 0;
    for (std::size_t i = 0; i < cancel.waits; ++i) {
      const Waited& waited = history.waits[i];
      if (waited.kind == Step::Kind::kWaitForAll) ended = std::max(ended, waited.after);
    }
    std::uint64_t& known = result[static_cast<std::size_t>(cancel.group)];
    known = std::min(known, ended);
  }
  return result;
}

/// The first operation that ran though its thread had cancelled its group before it was pushed, or
/// RandomOperation::kNone.
int ran_after_cancel(const Program& program, const History& history,
                     const std::vector<Step>& steps) {
  std::vector<bool> cancelled(static_cast<std::size_t>(program.groups));
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kCancel) cancelled[static_cast<std::size_t>(step.index)] = true;
    if (step.kind != Step::Kind::kPush) continue;
    for (int i = step.index; i != RandomOperation::kNone;) {
      const RandomOperation& operation = program.operations[static_cast<std::size_t>(i)];
      const bool may_run = operation.group == RandomOperation::kNone ||
                           !cancelled[static_cast<std::size_t>(operation.group)];
      if (!may_run && history.operations[static_cast<std::size_t>(i)].runs != 0) return i;
      i = operation.child;
    }
  }
  return RandomOperation::kNone;
}

}  // namespace

std::vector<std::string> check_waits(const Program& program, const History& history,
                                     const Outcomes& outcomes) {
  return WaitOracle(program, history, outcomes).run();
}

std::vector<std::string> check_cancels(const Program& program, const History& history,
                                       const Outcomes& outcomes) {
  std::vector<std::string> differences;
  const auto complain = [&](std::size_t number, const std::string& text) {
    if (differences.size() >= kMostDifferences) return;
    const std::uint64_t sequence = history.operations[number].sequence;
    differences.push_back("#" + std::to_string(sequence) + text);
  };
  for (const std::vector<Step>& steps : program.threads) {
    const int number = ran_after_cancel(program, history, steps);
    if (number == RandomOperation::kNone) continue;
    complain(static_cast<std::size_t>(number), " ran though its group was cancelled before");
  }
  const std::vector<std::uint64_t> ended = ended_before_cancel(program, history);
  for (const std::size_t number : outcomes.cancelled) {
    const int group = program.operations[number].group;
    if (group == RandomOperation::kNone) {
      complain(number, " was skipped without a reason");
    } else if (history.operations[number].sequence <= ended[static_cast<std::size_t>(group)]) {
      complain(number, " was skipped before its group was cancelled");
    }
  }
  return differences;
}

}  // namespace heddle::support
