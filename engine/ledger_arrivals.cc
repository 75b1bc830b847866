// How the ledger takes plain pushes: who pushes leaves them, and others take them in.

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>

#include "engine/ledger.h"
#include "engine/ledger_turn.h"

namespace heddle::detail {
namespace {

/// Arrivals that are taken in before others get the lock.
constexpr std::size_t kTakenInAtOnce = 256;

/// What an operation needs that goes to a stream, or names many variables. False without memory.
bool try_make_extras(Operation& op, const Arrival& arrival) noexcept try {
  if ((arrival.flags & (Operation::kOnStream | Operation::kManyAccesses)) == 0) return true;
  if (op.extras == nullptr) op.extras = std::make_unique<OperationExtras>();
  if (arrival.has_many()) op.extras->reserve(op, arrival.many->all.size());
  op.extras->recorded = {};
  op.extras->pushed_at = 0;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace

/// Without memory it leaves the rest: who has a place now makes room for another one when it ends.
std::size_t Ledger::take_in_locked(ReadyList& ready, std::size_t most) {
  Arrivals& arrivals = intake_.arrivals();
  const std::uint64_t before = arrivals.taken();
  dissolve_stretch_locked();
  const std::size_t count = std::min<std::uint64_t>(arrivals.size(), most);
  for (std::size_t i = 0; i != count; ++i) {
    if (operations_.unused() == 0) collect_locked(ready);
    if (!operations_.try_reserve(1)) break;
    Arrival& arrival = arrivals.front();
    if (!try_make_extras(operations_.next(), arrival)) break;
    Operation& op = operations_.take();
    begin_from(op, arrival);
    std::construct_at(&op.task, std::move(arrival.task));
    if (arrivals.taken() >= intake_.first_uncounted()) generations_.add(op.generation);
    const Tracker::Held held = tracker_.push(op, arrival);
    announce_if_held_back(op);
    if (arrival.has_many()) delete arrival.many;
    arrivals.pop();
    if (held == Tracker::Held::kNot) ready.push(op);
    // What it waits for may be posted; then it comes before the next ones.
    if (held == Tracker::Held::kByOthers) collect_locked(ready);
  }
  arrivals.end_taking();
  return arrivals.taken() - before;
}

void Ledger::take_in_all(ReadyList& ready) {
  const std::uint64_t end = intake_.arrivals().published();
  while (!intake_.arrivals().has_taken(end)) {
    const Turn turn(*this);
    if (intake_.arrivals().taken() >= end) return;
    if (take_in_locked(ready, kTakenInAtOnce) == 0) throw std::bad_alloc();
    hand_on_to_workers(ready);
  }
}

std::size_t Ledger::take_in(ReadyList& ready, std::size_t most, Mailbox* own, bool hands_on) {
  const Turn turn(*this);
  if (own != nullptr) own->take_own([&](Operation& op) { end_posted(op, ready); });
  collect_locked(ready);
  const std::size_t taken = take_in_locked(ready, most);
  // With the lock, as else a worker might take in and run what was pushed later before that. What
  // is for a stream the caller dispatches: there something pushed later may come first.
  if (hands_on && taken != 0) hand_on_to_workers(ready);
  return taken;
}

}  // namespace heddle::detail
