#include "engine/recorded_graph.h"

#include <unordered_map>

#include "engine/recorded_op.h"

namespace heddle::detail {
namespace {

constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

std::vector<std::uint32_t> number(std::span<const Var> variables) {
  std::unordered_map<const VarState*, std::uint32_t> known;
  std::vector<std::uint32_t> numbers;
  for (const Var& var : variables) {
    const auto next = static_cast<std::uint32_t>(known.size());
    numbers.push_back(known.try_emplace(VarRef(var).state(), next).first->second);
  }
  return numbers;
}

/// Goes through the operations in their order.
class GraphBuilder {
 public:
  GraphBuilder(std::span<const RecordedOp> ops, std::span<const Var> variables)
      : ops_(ops), numbers_(number(variables)), last_follower_(ops.size(), kNone) {
    for (const std::uint32_t variable : numbers_) {
      if (variable >= variables_.size()) variables_.resize(variable + std::size_t{1});
    }
    for (std::uint32_t op = 0; op < ops.size(); ++op) {
      for (std::size_t i = 0; i < ops[op].mutates; ++i) {
        Variable& variable = variables_[numbers_[ops[op].first_variable + i]];
        if (variable.first_write == kNone) variable.first_write = op;
        variable.last_write = op;
      }
    }
    blockers_.resize(ops.size());
    waits_.resize(ops.size());
    for (std::uint32_t op = 0; op < ops.size(); ++op) {
      const std::size_t first = ops[op].first_variable;
      for (std::size_t i = 0; i < ops[op].mutates; ++i) write(op, first + i);
      for (std::size_t i = 0; i < ops[op].reads; ++i) read(op, first + ops[op].mutates + i);
    }
  }

  std::size_t uses() const { return uses_.size(); }

  std::unique_ptr<const RecordedGraph> build() && {
    auto graph = std::make_unique<RecordedGraph>();
    graph->starts = NumberLists(uses_.size(), starts_);
    graph->followers = NumberLists(ops_.size(), followers_);
    graph->ends = NumberLists(ops_.size(), ends_);
    graph->uses = std::move(uses_);
    graph->blockers = std::move(blockers_);
    graph->waits = std::move(waits_);
    for (const RecordedOp& op : ops_) graph->simple.push_back(op.is_simple(ops_.front()) ? 1 : 0);
    graph->numbers = std::move(numbers_);
    graph->distinct = variables_.size();
    return graph;
  }

 private:
  struct Variable {
    std::uint32_t first_write = kNone;
    std::uint32_t last_write = kNone;
    // So far:
    std::uint32_t write = kNone;
    std::vector<std::uint32_t> reads;  ///< since then
    std::uint32_t use = kNone;         ///< the one that is going on
  };

  std::uint32_t begin_use(std::size_t variable) {
    uses_.push_back({.variable = variable});
    return static_cast<std::uint32_t>(uses_.size() - 1);
  }
  void wait_for_use(std::uint32_t op, std::uint32_t use) {
    starts_.emplace_back(use, op);
    ++blockers_[op];
    ++waits_[op];
  }
  void end_with(std::uint32_t op, std::uint32_t use) {
    ends_.emplace_back(op, use);
    ++uses_[use].ends;
    uses_[use].last = op;
  }
  void wait_for(std::uint32_t op, std::uint32_t earlier) {
    if (std::exchange(last_follower_[earlier], op) == op) return;  // because of another variable
    followers_.emplace_back(earlier, op);
    ++blockers_[op];
  }

  void write(std::uint32_t op, std::size_t at) {
    Variable& variable = variables_[numbers_[at]];
    if (op == variable.first_write) {
      if (variable.use != kNone) uses_[variable.use].is_inner = true;
      variable.use = begin_use(at);
      wait_for_use(op, variable.use);
    } else if (variable.reads.empty()) {
      wait_for(op, variable.write);
    } else {
      for (const std::uint32_t earlier : variable.reads) wait_for(op, earlier);
    }
    variable.reads.clear();
    variable.write = op;
    ++uses_[variable.use].writes;
    if (op != variable.last_write) return;
    end_with(op, variable.use);
    variable.use = kNone;
  }

  void read(std::uint32_t op, std::size_t at) {
    Variable& variable = variables_[numbers_[at]];
    const bool is_between = variable.write != kNone && op < variable.last_write;
    if (is_between) {
      wait_for(op, variable.write);
      variable.reads.push_back(op);
      return;
    }
    if (variable.use == kNone) variable.use = begin_use(at);
    wait_for_use(op, variable.use);
    end_with(op, variable.use);
  }

  const std::span<const RecordedOp> ops_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> last_follower_;
  std::vector<Variable> variables_;
  std::vector<RecordedGraph::Use> uses_;
  std::vector<std::uint32_t> blockers_;
  std::vector<std::uint32_t> waits_;
  std::vector<NumberLists::Pair> starts_;
  std::vector<NumberLists::Pair> followers_;
  std::vector<NumberLists::Pair> ends_;
};

}  // namespace

NumberLists::NumberLists(std::size_t count, std::span<const Pair> pairs)
    : begin_(count + 1), numbers_(pairs.size()) {
  for (const Pair& pair : pairs) ++begin_[pair.first + std::size_t{1}];
  for (std::size_t list = 0; list < count; ++list) begin_[list + 1] += begin_[list];
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (const Pair& pair : pairs) numbers_[next[pair.first]++] = pair.second;
}

std::unique_ptr<const RecordedGraph> RecordedGraph::make(std::span<const RecordedOp> ops,
                                                         std::span<const Var> variables) {
  GraphBuilder builder(ops, variables);
  if (builder.uses() > ops.size()) return nullptr;
  return std::move(builder).build();
}

}  // namespace heddle::detail
