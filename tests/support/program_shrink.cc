#include "tests/support/program_shrink.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace heddle::support {
namespace {

/// Numbers what is used anew, from 0 on.
class Renumbering {
 public:
  int operator()(int index) {
    return known_.try_emplace(index, static_cast<int>(known_.size())).first->second;
  }
  int count() const { return static_cast<int>(known_.size()); }

 private:
  std::map<int, int> known_;
};

/// The same without what it does not use.
Program without_unused(const Program& program) {
  Program result = program;
  result.operations.clear();
  Renumbering variables;
  Renumbering groups;
  Renumbering operations;
  std::vector<int> used;  // by the new numbers
  const auto use = [&](int index) {
    const int number = operations(index);
    if (number == static_cast<int>(used.size())) used.push_back(index);
    return number;
  };
  for (std::vector<Step>& steps : result.threads) {
    for (Step& step : steps) {
      if (step.kind == Step::Kind::kWaitForAll) continue;
      if (step.kind == Step::Kind::kPush) {
        step.index = use(step.index);
      } else {
        step.index = step.kind == Step::Kind::kCancel ? groups(step.index) : variables(step.index);
      }
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    RandomOperation operation = program.operations[static_cast<std::size_t>(used[i])];
    for (std::size_t r = 0; r < operation.read_count; ++r) {
      operation.reads_.at(r) = static_cast<std::uint16_t>(variables(operation.reads_.at(r)));
    }
    for (std::size_t m = 0; m < operation.mutate_count; ++m) {
      operation.mutates_.at(m) = static_cast<std::uint16_t>(variables(operation.mutates_.at(m)));
    }
    if (operation.group != RandomOperation::kNone) operation.group = groups(operation.group);
    if (operation.child != RandomOperation::kNone) operation.child = use(operation.child);
    result.operations.push_back(operation);
  }
  result.shape.variables = std::max(1, variables.count());
  result.groups = groups.count();
  return result;
}

template <std::size_t kMost>
void erase_at(std::array<std::uint16_t, kMost>& list, std::uint8_t& count, std::size_t at) {
  for (std::size_t i = at; i + 1 < count; ++i) list.at(i) = list.at(i + 1);
  --count;
}

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails, int most)
      : program_(std::move(program)), fails_(fails), left_(most) {}

  Program run() {
    if (!try_it(program_)) return std::move(program_);
    for (bool is_smaller = true; is_smaller && left_ > 0;) {
      is_smaller = false;
      for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
        is_smaller |= drop_steps(thread);
      }
      is_smaller |= drop_threads();
      is_smaller |= tidy();
      for (std::size_t i = 0; i < program_.operations.size(); ++i) is_smaller |= simplify(i);
    }
    return std::move(program_);
  }

 private:
  bool try_it(Program candidate) {
    if (left_ <= 0) return false;
    --left_;
    if (!fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  /// Many at a time first.
  bool drop_steps(std::size_t thread) {
    bool is_smaller = false;
    for (std::size_t some = program_.threads[thread].size(); some != 0; some /= 2) {
      for (std::size_t begin = 0; begin < program_.threads[thread].size();) {
        Program candidate = program_;
        std::vector<Step>& steps = candidate.threads[thread];
        const auto first = steps.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::size_t count = std::min(some, steps.size() - begin);
        steps.erase(first, first + static_cast<std::ptrdiff_t>(count));
        if (try_it(std::move(candidate))) {
          is_smaller = true;
        } else {
          begin += some;
        }
      }
    }
    return is_smaller;
  }

  bool drop_threads() {
    bool is_smaller = false;
    for (std::size_t thread = program_.threads.size(); thread-- != 0;) {
      if (!program_.threads[thread].empty() || program_.threads.size() == 1) continue;
      Program candidate = program_;
      candidate.threads.erase(candidate.threads.begin() + static_cast<std::ptrdiff_t>(thread));
      is_smaller |= try_it(std::move(candidate));
    }
    return is_smaller;
  }

  bool tidy() {
    Program candidate = without_unused(program_);
    const bool is_smaller = candidate.operations.size() < program_.operations.size() ||
                            candidate.shape.variables < program_.shape.variables ||
                            candidate.groups < program_.groups;
    return is_smaller && try_it(std::move(candidate));
  }

  /// With a change of one operation, if that is one.
  template <class Change>
  bool try_change(std::size_t at, Change&& change) {
    Program candidate = program_;
    if (!change(candidate.operations[at])) return false;
    candidate.shape.children = std::any_of(
        candidate.operations.begin(), candidate.operations.end(),
        [](const RandomOperation& each) { return each.child != RandomOperation::kNone; });
    return try_it(std::move(candidate));
  }
  /// With the value that an operation has at first.
  template <class Value>
  bool try_default(std::size_t at, Value RandomOperation::*member) {
    return try_change(at, [member](RandomOperation& operation) {
      return std::exchange(operation.*member, RandomOperation{}.*member) !=
             RandomOperation{}.*member;
    });
  }

  bool simplify(std::size_t at) {
    bool is_smaller = try_default(at, &RandomOperation::child);
    is_smaller |= try_default(at, &RandomOperation::ending);
    is_smaller |= try_default(at, &RandomOperation::group);
    is_smaller |= try_default(at, &RandomOperation::device);
    is_smaller |= try_default(at, &RandomOperation::lane);
    is_smaller |= try_default(at, &RandomOperation::priority);
    is_smaller |= try_default(at, &RandomOperation::overwrites);
    is_smaller |= try_default(at, &RandomOperation::try_first);
    for (std::size_t i = program_.operations[at].read_count; i-- != 0;) {
      is_smaller |= try_change(at, [i](RandomOperation& operation) {
        erase_at(operation.reads_, operation.read_count, i);
        return true;
      });
    }
    for (std::size_t i = program_.operations[at].mutate_count; i-- != 0;) {
      is_smaller |= try_change(at, [i](RandomOperation& operation) {
        erase_at(operation.mutates_, operation.mutate_count, i);
        return true;
      });
    }
    return is_smaller;
  }

  Program program_;
  const std::function<bool(const Program&)>& fails_;
  int left_;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails, int most) {
  return Shrinker(std::move(program), fails, most).run();
}

}  // namespace heddle::support
