#include <algorithm>
#include <thread>

#include "engine/ledger.h"
#include "engine/ledger_turn.h"
#include "engine/operation_scope.h"
#include "engine/recorded_program.h"

// How the ledger takes a whole run of a recording.

namespace heddle::detail {
namespace {

/// Operations that are pushed before others, who end some, get the lock, and the workers get what
/// has become ready.
constexpr std::size_t kPiece = 64;

/// How many operations ahead of their use unused ones are fetched.
constexpr std::size_t kAhead = 4;

void fetch(const Operation& op) {
  const auto* line = reinterpret_cast<const char*>(&op);
  for (std::size_t i = 0; i < sizeof(Operation); i += 64) __builtin_prefetch(line + i, 1);
}

}  // namespace

void Ledger::wait_for_block() {
  while (is_block_open_) {
    lock_.unlock();
    std::this_thread::yield();
    lock_.lock();
  }
}

/// All of the pushing that may throw.
void Ledger::reserve_operations(const Block& block) {
  const std::size_t count = block.run.size();
  while (unused_.size() < count) add_slab();
  // Taken from the back, as they were used last.
  block_.assign(unused_.rbegin(), unused_.rbegin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    make_room(*block_[i], block.run.arguments(i), block.run.route(i).has_extras);
  }
  unused_.resize(unused_.size() - count);
}

bool Ledger::open(Block& block, ReadyList& ready) {
  const std::size_t count = block.run.size();
  const bool admitted = block.admission == Submission::Admission::kAdmitted;
  try {
    wait_for_block();
    for (const VarState* const var : block.run.variables()) {
      check_usable(var, engine_.id(), "Recording::run");
    }
    if (!has_place(block.admission, ready)) return false;
    pushes_ += static_cast<std::uint32_t>(std::min<std::size_t>(count, kCollectEvery));
    if (unused_.size() < count || pushes_ >= kCollectEvery) {
      pushes_ = 0;
      collect_locked(ready);
    }
    reserve_operations(block);
  } catch (...) {
    if (admitted) limit_.give_back();
    throw;
  }
  limit_.take(count - (admitted ? 1 : 0));
  block.first = last_sequence_ + 1;
  is_block_open_ = true;
  return true;
}

Ledger::Pushed Ledger::push_some(Block& block, ReadyList& ready) {
  const OperationScope* const parent = OperationScope::of(engine_);
  const Turn turn(*this);
  if (block.next == 0 && !open(block, ready)) return Pushed::kNone;
  const std::size_t count = block_.size();
  const std::size_t end = std::min(count, block.next + kPiece);
  bool any_waits = false;
  for (; block.next < end; ++block.next) {
    if (block.next + kAhead < count) fetch(*block_[block.next + kAhead]);
    Operation& op = *block_[block.next];
    block.run.submit(block.next, [&](Submission& submission) {
      submission.pushed_at = block.pushed_at;
      fill(op, submission, block.run.route(block.next));
      op.sequence = ++last_sequence_;
      op.generation = parent != nullptr ? parent->generation() : generations_.newest();
      generations_.add(op.generation);
      if (Tracker::push(op, submission.reads, submission.mutates)) {
        ready.push(op);
      } else {
        any_waits = true;
      }
    });
  }
  if (any_waits) collect_locked(ready);  // what they wait for may be posted
  if (end != count) return Pushed::kSome;
  is_block_open_ = false;
  return Pushed::kAll;
}

}  // namespace heddle::detail
