#include "programs/order_check.h"

namespace bench::engine {
namespace {

std::size_t to_size(int number) { return static_cast<std::size_t>(number); }

}  // namespace

OrderCheck::OrderCheck(const Program& program)
    : pushers_(to_size(program.pushers)),
      variables_(to_size(program.variables)),
      uses_(program.operations.size()),
      cells_(std::make_unique<Cell[]>(pushers_ * variables_)),
      users_(std::make_unique<std::atomic<int>[]>(variables_)),
      ran_(std::make_unique<std::atomic<bool>[]>(program.operations.size())) {
  struct Counts {
    int writes = 0;
    int reads = 0;
  };
  std::vector<Counts> counts(pushers_ * variables_);
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    Counts* const of_pusher = &counts[i % pushers_ * variables_];
    for (const int v : program.operations[i].reads) {
      Counts& now = of_pusher[v];
      uses_[i].push_back({v, false, now.writes, 0});
      ++now.reads;
    }
    for (const int v : program.operations[i].writes) {
      Counts& now = of_pusher[v];
      uses_[i].push_back({v, true, now.writes, now.reads});
      ++now.writes;
      now.reads = 0;
    }
  }
}

OrderCheck::Cell& OrderCheck::cell(std::size_t operation, int variable) {
  return cells_[operation % pushers_ * variables_ + to_size(variable)];
}

void OrderCheck::check(std::size_t operation) {
  ++runs_;
  if (ran_[operation].exchange(true)) ++wrong_;
  for (const Use& use : uses_[operation]) begin(use, cell(operation, use.variable));
  for (const Use& use : uses_[operation]) end(use, cell(operation, use.variable));
}

void OrderCheck::begin(const Use& use, const Cell& cell) {
  std::atomic<int>& users = users_[to_size(use.variable)];
  const bool alone = use.writes ? users.exchange(-1) == 0 : users.fetch_add(1) >= 0;
  if (!alone) ++wrong_;
  if (cell.writes != use.earlier_writes) ++wrong_;
  if (use.writes && cell.reads != use.earlier_reads) ++wrong_;
}

void OrderCheck::end(const Use& use, Cell& cell) {
  if (use.writes) {
    cell.reads = 0;
    ++cell.writes;
    users_[to_size(use.variable)] = 0;
  } else {
    ++cell.reads;
    --users_[to_size(use.variable)];
  }
}

std::size_t OrderCheck::errors() const {
  return wrong_ + (uses_.size() > runs_ ? uses_.size() - runs_ : 0);
}

}  // namespace bench::engine
