#include "engine/graph_run.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/fetch_ahead.h"
#include "engine/ledger.h"
#include "engine/worker_pool.h"

namespace heddle::detail {
namespace {

/// An operation that takes longer, in ns, should not keep others of its run waiting.
constexpr std::int64_t kLong = 50'000;

/// Nor one that waits for longer, in ns. Runs of one recording in turn wait for each other, and all
/// of them are faster with one worker.
constexpr std::int64_t kLongWait = 5'000'000;

void submit(WorkerPool& pool, GraphItem* item, bool helps) {
  if (item != nullptr) {
    pool.put(*item);
  } else if (helps) {
    pool.wake_one();
  }
}

}  // namespace

GraphRun::GraphRun(ProgramRun& run, WorkerPool& pool)
    : size_(run.size()),
      program_(run.program()),
      graph_(*run.graph()),
      pool_(pool),
      is_shared_(pool.size() > 1),
      reserved_(run.reserved()),
      uses_(graph_.uses.size()),
      poison_(graph_.distinct),
      keeps_order_(!is_shared_ || program_.fineness().begins_in_order(pool.is_tiny())),
      uses_left_(graph_.uses.size()),
      ready_(graph_, /*one_at_a_time=*/keeps_order_.load()),
      priority_(op(0).priority),
      items_(pool.size()) {
  ends_left_.reserve(graph_.uses.size());
  for (const RecordedGraph::Use& use : graph_.uses) ends_left_.push_back(use.ends);
  for (GraphItem& item : items_) {
    item.type = ReadyNode::Type::kGraph;
    item.run = this;
  }
  uses_in_ledger = uses_.size();
  program_.hold(1);
}

GraphRun::~GraphRun() {
  if (holds_program_) let_go();  // it was never begun
}

void GraphRun::let_go() {
  {
    const std::lock_guard lock(lock_);
    holds_program_ = false;
  }
  program_.release(1);
}

void GraphRun::begin(std::uint64_t first, std::uint64_t generation, bool is_alone) {
  first_ = first;
  generation_ = generation;
  is_alone_ = is_alone;
}

void GraphRun::fill(Operation& op, std::uint32_t use) {
  const RecordedGraph::Use& shape = graph_.uses[use];
  const RecordedOp& last = program_.op(is_simple(shape.last) ? 0 : shape.last);
  op.sequence = sequence(shape.last);
  op.generation = generation_;
  const bool is_named = !is_simple(shape.last) && !last.name.empty();
  const unsigned named = is_named ? unsigned{Operation::kNamed} : 0U;
  const std::uint16_t kind = Operation::flags_of(Submission::Kind::kUse, last.options.lane);
  op.begin(last.priority, last.options.device,
           static_cast<std::uint16_t>(Operation::kNoQueue | named | kind), nullptr);
  op.outcome = Outcome::kCompleted;
  std::construct_at(&op.use, Operation::Use{.run = this, .number = use, .versions = shape.writes});
  uses_[use] = &op;
}

void GraphRun::fetch_behind(const GraphItem& item) {
  const std::uint32_t next = ready_.next_after(item.op);
  if (next != ReadyOps::kNone) fetch_ahead(next);
  for (const std::uint32_t use : graph_.ends[item.last]) fetch_to_end(*uses_[use]);
}

GraphItem* GraphRun::use_item() {
  for (GraphItem& item : items_) {
    if (item.is_used) continue;
    item.is_used = true;
    ++used_items_;
    ready_.take_first(item.op);
    item.last = item.op;
    set_place(item);
    return &item;
  }
  return nullptr;
}

void GraphRun::set_place(GraphItem& item) {
  item.sequence = sequence(item.op);
  item.set_priority(priority_.of(item.op));
}

void GraphRun::grant(ReadyList& uses) {
  GraphItem* item = nullptr;
  bool helps = false;
  bool outranks = false;
  WorkerPool& pool = pool_;  // what follows the lock may be later than the end of the run
  {
    const std::lock_guard lock(lock_);
    while (Operation* const op = uses.pop()) {
      op->phase.store(Operation::Phase::kGranted, std::memory_order_relaxed);
      if (op->has(Operation::kPoisoned)) {
        op->clear(Operation::kPoisoned);
        poison_[graph_.numbers[graph_.uses[op->use.number].variable]] =
            std::exchange(op->failure, nullptr);
        has_failed_.store(true, std::memory_order_relaxed);
      }
      ready_.grant(op->use.number);
      ++granted_;
    }
    keep_going_if_first();
    item = item_for_ready();
    helps = item == nullptr && wants_help();
    outranks = priority_.is_lent() && item == nullptr && outranks_queued();
  }
  submit(pool, item, helps);
  if (outranks) pool.raise_runs();
}

bool GraphRun::end_push() {
  GraphItem* item = nullptr;
  bool helps = false;
  WorkerPool& pool = pool_;  // as for grant()
  {
    const std::lock_guard lock(lock_);
    ready_.end_push();
    if (is_over_ && used_items_ == 0) return true;
    keep_going_if_first();
    item = item_for_ready();
    helps = item == nullptr && wants_help();
  }
  submit(pool, item, helps);
  return false;
}

void GraphRun::leave_order_if_stuck() {
  // Who grants has counted what it expected before, so this misses none of granted_.
  const bool has_all = granted_ == grants_.load(std::memory_order_relaxed);
  if (used_items_ == 0 && granted_ != 0 && has_all) ready_.leave_order_if_stuck();
  // It changes only while no item is used: nobody posts an end before it has taken lock_. Else this
  // stores what is there.
  keeps_order_.store(ready_.in_order(), std::memory_order_relaxed);
}

void GraphRun::keep_going_if_first() {
  if (is_shared_ || !ready_.in_order()) return;
  const ReadyPlace at = pool_.run_of_first();
  if (at.sequence == 0 || !goes_before(at, first_place())) leave_order_if_stuck();
}

bool GraphRun::leave_order(bool is_slow) {
  const std::lock_guard lock(lock_);
  if (!holds_back()) return false;
  if (is_slow && used_items_ != 0) program_.fineness().found_slow();
  close_rows();
  ready_.leave_order();
  keeps_order_.store(false);
  return true;
}

bool GraphRun::is_stuck(std::int64_t now) {
  const std::lock_guard lock(lock_);
  const bool is_running = std::any_of(items_.begin(), items_.end(),
                                      [](const GraphItem& item) { return item.is_running; });
  using At = StandStill::At;
  reach_all();
  const bool is_waiting = holds_back() && used_items_ == 0;
  const At at = is_waiting ? At::kWaiting : is_running ? At::kRunning : At::kElse;
  return stands_still_.look(at, ended(), now) >= (is_running ? kLong : kLongWait);
}

bool GraphRun::measured(bool is_fine) {
  // Where several workers are at it they are in each other's way.
  if (!keeps_order_.load(std::memory_order_relaxed)) return false;
  program_.fineness().measured(is_fine, pool_.is_tiny());
  return !is_fine && !program_.fineness().is_fine() && leave_order(/*is_slow=*/false);
}

void GraphRun::close_rows() {
  for (GraphItem& item : items_) {
    if (item.op == item.last) continue;
    reach(item, item.close_row());
    item.last = item.op;
  }
}

void GraphRun::reach_all() {
  for (GraphItem& item : items_) {
    if (item.op != item.last) reach(item, item.reached());
  }
}

void GraphRun::count_rows() {
  const std::lock_guard lock(lock_);
  reach_all();
}

bool GraphRun::take_next(GraphItem& item) {
  ready_.take_first(item.op);
  if (item.op == GraphItem::kNone) return false;
  item.begin_row(ready_.last_in_row(item.op));
  return true;
}

bool GraphRun::choose(GraphItem& item) {
  bool has_one = false;
  bool outranks = false;
  {
    const std::lock_guard lock(lock_);
    item.is_running = true;
    has_one = take_next(item);
    outranks = priority_.is_lent() && outranks_queued();
  }
  if (outranks) pool_.raise_runs();
  return has_one;
}

void GraphRun::put_off(GraphItem& item) {
  const std::lock_guard lock(lock_);
  item.is_running = false;
  // What has been lent a priority may have become ready since it was chosen.
  ready_.take_first(item.op);
  item.last = item.op;
  set_place(item);
}

bool GraphRun::wants_help() const {
  return (!ready_.empty() || holds_back()) && pool_.lacks_searcher();
}

bool GraphRun::outranks_queued() {
  if (ready_.empty()) return false;
  const int priority = priority_.of(ready_.first());
  bool has_queued = false;
  for (const GraphItem& item : items_) {
    if (!item.is_queued()) continue;
    if (item.priority() >= priority) return false;
    has_queued = true;
  }
  return has_queued;
}

void GraphRun::lend(int priority, std::uint32_t last) {
  {
    const std::lock_guard lock(lock_);
    if (!priority_.lend(priority, last)) return;
  }
  pool_.raise_runs();
}

std::uint64_t GraphRun::ended() const {
  return ended(Outcome::kCompleted) + ended(Outcome::kFailed) + ended(Outcome::kSkipped) +
         ended(Outcome::kCancelled);
}

std::uint64_t GraphRun::ended_writes(std::uint32_t use) {
  const std::lock_guard lock(lock_);
  if (!holds_program_) return uses_[use]->use.versions;  // all have ended
  const std::uint32_t variable = graph_.numbers[graph_.uses[use].variable];
  const auto mutates = [&](std::uint32_t i) {
    const auto first = graph_.numbers.begin() + static_cast<std::ptrdiff_t>(op(i).first_variable);
    const auto end = first + static_cast<std::ptrdiff_t>(op(i).mutates);
    return std::find(first, end, variable) != end;
  };
  reach_all();
  std::uint64_t writes = 0;
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (ready_.has_ended(i) && mutates(i)) ++writes;
  }
  return writes;
}

void GraphRun::count(Outcome outcome, std::uint32_t more) {
  ended_[static_cast<std::size_t>(outcome)].store(ended(outcome) + more, std::memory_order_relaxed);
}

void GraphRun::reach(GraphItem& item, std::uint32_t at) {
  if (at == item.op) return;
  count(Outcome::kCompleted, at - item.op);
  ready_.reach(at);
  item.op = at;
}

GraphRun::Step GraphRun::end(GraphItem& item, std::uint32_t i, Outcome outcome) {
  Step step;
  const std::lock_guard lock(lock_);
  reach(item, i);
  count(outcome, 1);
  item.op = item.last = ready_.end(i);
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
  step.has_more = take_next(item);
  if (step.has_more) fetch_behind(item);
  step.wants_help = wants_help();
  step.outranks = priority_.is_lent() && outranks_queued();
  step.in_order = ready_.in_order();
  return step;
}

GraphRun::Left GraphRun::leave(GraphItem& item) {
  const std::lock_guard lock(lock_);
  if (take_next(item)) return Left::kNot;
  item.is_used = item.is_running = false;
  --used_items_;
  return is_over_ && used_items_ == 0 && ready_.is_pushed() ? Left::kLast : Left::kLeft;
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

void GraphRun::carry(std::uint32_t i, const FailurePtr& failure, Ledger& ledger) {
  if (failure != nullptr) has_failed_.store(true, std::memory_order_relaxed);
  const RecordedOp& recorded = op(i);
  for (std::size_t k = 0; k < recorded.mutates; ++k) {
    FailurePtr& poison = poison_[graph_.numbers[recorded.first_variable + k]];
    if (poison != failure) ledger.drop(std::exchange(poison, failure));
  }
}

/// With its order, if the next operation waits: as long as nobody would overtake it; with one
/// worker while that is at a run that came before and goes before it.
bool GraphRun::can_wait(const ReadyPlace& other) {
  if (is_shared_) return other.node == nullptr;
  const ReadyPlace at = pool_.run_of_first();
  return at.sequence != 0 && at.sequence < first_ && goes_before(at, first_place());
}

GraphItem* GraphRun::join(const ReadyPlace& other) {
  const std::lock_guard lock(lock_);
  const auto is_first = [&] { return other.node == nullptr || goes_before(first_place(), other); };
  if (granted_ != 0 && ready_.in_order() && !can_wait(other) && is_first()) leave_order_if_stuck();
  return !ready_.empty() && is_first() ? use_item() : nullptr;
}

bool GraphRun::is_ready() {
  const std::lock_guard lock(lock_);
  if (!is_shared_) leave_order_if_stuck();
  return !ready_.empty() || holds_back();
}

bool GraphRun::is_held_in_order() {
  const std::lock_guard lock(lock_);
  return holds_back();
}

void GraphRun::end_run() {
  const std::lock_guard lock(lock_);
  is_over_ = true;
}

}  // namespace heddle::detail
