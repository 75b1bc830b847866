#include <algorithm>

#include "engine/base/prefetch.h"
#include "engine/base/sync.h"
#include "engine/block.h"
#include "engine/graph_run.h"
#include "engine/ledger.h"
#include "engine/ledger_turn.h"
#include "engine/operation_scope.h"
#include "engine/recorded_program.h"
#include "engine/threaded_engine.h"

// How the ledger takes a whole run of a recording.

namespace heddle::detail {
namespace {

/// Operations that are pushed before others, who end some, get the lock, and the workers get what
/// has become ready.
constexpr std::size_t kPiece = 16;

/// Those that are left to workers before others get the intake.
constexpr std::size_t kLeftAtOnce = 64;

/// How many operations ahead of their use are fetched.
constexpr std::size_t kOperationsAhead = 4;

std::size_t size_of(const Block& block) {
  return block.graph != nullptr ? block.graph->graph().uses.size() : block.run.size();
}

/// Leaves the next operations of the block. False if these were the last.
bool leave_some(Block& block, Intake& intake) {
  const std::size_t count = block.run.size();
  const std::lock_guard lock(intake.lock());
  const std::size_t end = std::min(count, block.next + kLeftAtOnce);
  for (; block.next != end; ++block.next) {
    const RecordedOp& op = block.run.op(block.next);
    std::unique_ptr<ManyVariables> many;
    if (op.has_many()) many = std::move(block.many[block.next_many++]);
    Task task = block.run.task(block.next);
    intake.leave({.task = task,
                  .reads = block.run.reads(block.next),
                  .mutates = block.run.mutates(block.next),
                  .device = op.options.device,
                  .queue = op.route.queue,
                  .priority = op.priority,
                  .flags = op.route.flags,
                  .has_place = true},
                 std::move(many));
  }
  return end != count;
}

}  // namespace

void Ledger::Turn::wait_for_block() {
  while (ledger_.intake_.is_block_open()) {
    ledger_.lock_.unlock();
    base::yield();
    ledger_.lock_.lock();
    given_back_ = ledger_.limit().given_back();
  }
}

/// All of the pushing that may throw.
void Ledger::reserve_operations(const Block& block) {
  const std::size_t count = size_of(block);
  operations_.reserve(count);
  operations_.list(count, block_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t op = block.graph != nullptr ? block.graph->graph().uses[i].last : i;
    if (block.graph != nullptr && block.graph->graph().simple[op] != 0) continue;
    if (!block.run.op(op).route.has_extras) continue;
    make_room(*block_[i], block.run.arguments(op), block.pushed_at != 0);
  }
  operations_.drop(count);
}

bool Ledger::open(Block& block, const OperationScope* parent, ReadyList& ready) {
  const std::size_t count = block.run.size();
  for (const VarState* const var : block.run.variables()) {
    check_usable(var, engine_.id(), "Recording::run");
  }
  if (!has_place(block.admission, nullptr, ready)) return false;
  const std::size_t places = count - (block.is_admitted() ? 1 : 0);
  if (block.leaves) {
    intake_.reserve(count);
    limit().take(places);
    block.first = intake_.last_sequence() + 1;
    intake_.set_block_open(true);
    return true;
  }
  pushes_ += static_cast<std::uint32_t>(std::min<std::size_t>(count, kCollectEvery));
  if (operations_.unused() < size_of(block) || pushes_ >= kCollectEvery) {
    pushes_ = 0;
    collect_locked(ready);
  }
  if (block.graph != nullptr) graph_runs_.reserve(graph_runs_.size() + 1);
  reserve_operations(block);
  intake_.keeps_order(block.run.arguments(0).priority, block.is_admitted());
  limit().take(places);
  // Of the first it is asked before there is anything pending, of the others after that.
  for (std::size_t i = 1; block.graph == nullptr && i < count; ++i) {
    intake_.keeps_order(block.run.arguments(i).priority, /*has_place=*/false);
  }
  block.first = intake_.last_sequence() + 1;
  if (block.graph != nullptr) {
    intake_.give_numbers(count);
    const std::uint64_t generation =
        parent != nullptr ? parent->generation() : generations_.newest();
    block.graph->begin(block.first, generation, block.engine.has_one_queue());
    generations_.add(generation);
    graph_runs_.push_back(block.graph);
  }
  intake_.set_block_open(true);
  return true;
}

Tracker::Held Ledger::place_use(Block& block, Operation& op) {
  const auto use = static_cast<std::uint32_t>(block.next);
  const VarList variable = block.run.variable(block.graph->graph().uses[use].variable);
  Intake::name(variable);
  block.graph->fill(op, use);
  return op.versions() != 0 ? tracker_.push(op, {}, variable) : tracker_.push(op, variable, {});
}

bool Ledger::end_uses(GraphRun& run, ReadyList& uses, ReadyList& ready) {
  const Turn turn(*this);
  const bool may_be_last = !uses.empty();
  collect_locked(ready);  // others of the run may be posted
  while (Operation* const op = uses.pop()) end_use(*op, ready);
  if (run.uses_in_ledger != 0 || !may_be_last) return false;
  std::erase(graph_runs_, &run);
  for (FailurePtr& poison : run.poison()) tracker_.drop(std::move(poison));
  for (std::size_t i = 0; i < ended_.size(); ++i) ended_[i] += run.ended(static_cast<Outcome>(i));
  generations_.end(run.generation());
  limit().give_back(run.size() - run.given_back);
  return true;
}

Ledger::Pushed Ledger::push_some(Block& block, ReadyList& ready) {
  const OperationScope* const parent = OperationScope::of(engine_);
  const bool begins = block.first == 0;
  if (block.leaves && !begins) {
    if (leave_some(block, intake_)) return Pushed::kSome;
    const Turn turn(*this);
    const std::lock_guard lock(intake_.lock());
    intake_.set_block_open(false);
    return Pushed::kAll;
  }
  if (begins && !block.leaves) take_in_all(ready);  // most of it while others may push
  Turn turn(*this);
  if (begins) {
    turn.wait_for_block();
    const std::lock_guard lock(intake_.lock());
    block.leaves =
        block.leaves && intake_.keeps_order(block.run.arguments(0).priority, block.is_admitted());
    if (!block.leaves) {
      if (take_in_locked(ready) != 0) hand_on_to_workers(ready);
      if (intake_.arrivals().size() != 0) throw std::bad_alloc();
    }
    if (!open(block, parent, ready)) return Pushed::kNone;
    if (block.leaves) return Pushed::kSome;
  }
  const std::size_t count = block_.size();
  const std::size_t end = std::min(count, block.next + kPiece);
  bool may_be_posted = false;  // what some of them wait for
  for (; block.next < end; ++block.next) {
    if (block.next + kOperationsAhead < count) {
      base::prefetch_lines(block_[block.next + kOperationsAhead], Operation::kFirstLine,
                           Operation::kAccessLine);
    }
    Operation& op = *block_[block.next];
    if (block.graph != nullptr) {
      const Tracker::Held held = place_use(block, op);
      if (held == Tracker::Held::kNot) {
        block.graph->expect_grant();
        ready.push(op);
      }
      may_be_posted = may_be_posted || held == Tracker::Held::kByOthers;
      continue;
    }
    block.run.submit(block.next, [&](Submission& submission) {
      submission.pushed_at = block.pushed_at;
      const Tracker::Held held = place(op, submission, block.run.op(block.next).route, parent);
      if (held == Tracker::Held::kNot) ready.push(op);
      may_be_posted = may_be_posted || held == Tracker::Held::kByOthers;
    });
  }
  if (may_be_posted) collect_locked(ready);
  if (end != count) return Pushed::kSome;
  const std::lock_guard lock(intake_.lock());
  intake_.set_block_open(false);
  return Pushed::kAll;
}

}  // namespace heddle::detail
