#include "engine/graph_run.h"

#include <memory>
#include <mutex>
#include <utility>

#include "engine/worker_pool.h"

namespace heddle::detail {

GraphRun::GraphRun(ProgramRun& run, WorkerPool& pool)
    : size_(run.size()),
      program_(run.program()),
      graph_(*run.graph()),
      pool_(pool),
      reserved_(run.reserved()),
      uses_(graph_.uses.size()),
      poison_(graph_.distinct),
      uses_left_(graph_.uses.size()),
      ready_(graph_.blockers.size()),
      blockers_(graph_.blockers),
      items_(pool.size()) {
  ends_left_.reserve(graph_.uses.size());
  for (const RecordedGraph::Use& use : graph_.uses) ends_left_.push_back(use.ends);
  for (GraphItem& item : items_) {
    item.type = ReadyNode::Type::kGraph;
    item.run = this;
    item.set_priority(op(0).priority);
  }
  uses_in_ledger = uses_.size();
  program_.hold(1);
}

GraphRun::~GraphRun() {
  if (holds_program_) let_go();  // it was never begun
}

void GraphRun::let_go() {
  holds_program_ = false;
  program_.release(1);
}

void GraphRun::begin(std::uint64_t first, std::uint64_t generation) {
  first_ = first;
  generation_ = generation;
}

void GraphRun::fill(Operation& op, std::uint32_t use) {
  const RecordedGraph::Use& shape = graph_.uses[use];
  const RecordedOp& last = program_.op(shape.last);
  op.sequence = sequence(shape.last);
  op.generation = generation_;
  op.set_priority(last.priority);
  op.device = last.options.device;
  op.flags = static_cast<std::uint16_t>(
      Operation::kInline | (last.name.empty() ? 0U : unsigned{Operation::kNamed}) |
      Operation::flags_of(Submission::Kind::kUse, last.options.lane));
  op.marks = 0;
  op.outcome = Outcome::kCompleted;
  op.awaited.store(Awaited::kNo, std::memory_order_relaxed);
  op.phase.store(Operation::Phase::kPushed, std::memory_order_relaxed);
  op.queue = nullptr;
  std::construct_at(&op.use, Operation::Use{.run = this, .number = use, .versions = shape.writes});
  uses_[use] = &op;
}

void GraphRun::take_first(GraphItem& item) {
  if (ready_.empty()) return;
  if (item.op != GraphItem::kNone) ready_.insert(item.op);
  item.op = static_cast<std::uint32_t>(ready_.pop());
}

GraphItem* GraphRun::use_item() {
  for (GraphItem& item : items_) {
    if (item.is_used) continue;
    item.is_used = true;
    ++used_items_;
    take_first(item);
    item.sequence = sequence(item.op);
    return &item;
  }
  return nullptr;
}

void GraphRun::grant(Operation& op) {
  GraphItem* item = nullptr;
  bool wants_help = false;
  WorkerPool& pool = pool_;  // what follows the lock may be later than the end of the run
  {
    const std::lock_guard lock(lock_);
    op.phase.store(Operation::Phase::kGranted, std::memory_order_relaxed);
    if (op.has(Operation::kPoisoned)) {
      op.clear(Operation::kPoisoned);
      poison_[graph_.numbers[graph_.uses[op.use.number].variable]] =
          std::exchange(op.failure, nullptr);
      has_failed_.store(true, std::memory_order_relaxed);
    }
    for (const std::uint32_t i : graph_.starts[op.use.number]) {
      if (--blockers_[i] == 0) ready_.insert(i);
    }
    if (!ready_.empty() && used_items_ == 0) item = use_item();
    wants_help = item == nullptr && !ready_.empty() && pool.lacks_searcher();
  }
  if (item != nullptr) {
    pool.submit(*item);
  } else if (wants_help) {
    pool.help();
  }
}

void GraphRun::choose(GraphItem& item) {
  const std::lock_guard lock(lock_);
  item.is_running = true;
  take_first(item);
}

void GraphRun::put_off(GraphItem& item) {
  const std::lock_guard lock(lock_);
  item.is_running = false;
  item.sequence = sequence(item.op);
}

GraphRun::Step GraphRun::end(GraphItem& item, Outcome outcome) {
  Step step;
  const std::lock_guard lock(lock_);
  const std::uint32_t i = item.op;
  ended_[static_cast<std::size_t>(outcome)].store(ended(outcome) + 1, std::memory_order_relaxed);
  item.op = GraphItem::kNone;
  for (const std::uint32_t follower : graph_.followers[i]) {
    if (--blockers_[follower] != 0) continue;
    if (item.op == GraphItem::kNone) {  // mostly the only one
      item.op = follower;
    } else {
      ready_.insert(follower);
    }
  }
  for (const std::uint32_t use : graph_.ends[i]) {
    if (--ends_left_[use] != 0) continue;
    Operation& op = *uses_[use];
    if (op.versions() != 0 && has_failed()) {
      op.failure = poison_[graph_.numbers[graph_.uses[use].variable]];
      if (op.failure != nullptr) op.outcome = Outcome::kFailed;
    }
    step.ended.push(op);
    --uses_left_;
    step.was_last = uses_left_ == 0;
  }
  take_first(item);
  step.wants_help = !ready_.empty() && pool_.lacks_searcher();
  return step;
}

GraphRun::Left GraphRun::leave(GraphItem& item) {
  const std::lock_guard lock(lock_);
  take_first(item);
  if (item.op != GraphItem::kNone) return Left::kNot;
  item.is_used = item.is_running = false;
  --used_items_;
  return is_over_ && used_items_ == 0 ? Left::kLast : Left::kLeft;
}

FailurePtr GraphRun::inherited(std::uint32_t i) const {
  const RecordedOp& recorded = op(i);
  FailurePtr first;
  for (std::size_t k = 0; k < recorded.mutates + recorded.reads; ++k) {
    if (k < recorded.mutates && recorded.options.overwrites) continue;
    const FailurePtr& poison = poison_[graph_.numbers[recorded.first_variable + k]];
    if (poison != nullptr) first = earlier(first, poison);
  }
  return first;
}

void GraphRun::carry(std::uint32_t i, const FailurePtr& failure) {
  if (failure != nullptr) has_failed_.store(true, std::memory_order_relaxed);
  const RecordedOp& recorded = op(i);
  for (std::size_t k = 0; k < recorded.mutates; ++k) {
    poison_[graph_.numbers[recorded.first_variable + k]] = failure;
  }
}

GraphItem* GraphRun::join(const ReadyPlace& other) {
  const std::lock_guard lock(lock_);
  if (ready_.empty()) return nullptr;
  const ReadyPlace mine = {
      .sequence = sequence(static_cast<std::uint32_t>(ready_.first())),
      .priority = items_.front().priority(),
  };
  return other.node == nullptr || goes_before(mine, other) ? use_item() : nullptr;
}

bool GraphRun::is_ready() {
  const std::lock_guard lock(lock_);
  return !ready_.empty();
}

void GraphRun::end_run() {
  const std::lock_guard lock(lock_);
  is_over_ = true;
}

}  // namespace heddle::detail
