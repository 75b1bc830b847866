// How the ledger lets a worker run pushes that have arrived without giving them their places.

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "engine/base/grain.h"
#include "engine/base/prefetch.h"
#include "engine/ledger.h"
#include "engine/ledger_turn.h"
#include "engine/touched.h"

namespace heddle::detail {
namespace {

/// How many arrivals ahead of their use the variables of one are fetched.
constexpr std::size_t kVariablesAhead = 4;
constexpr std::size_t kArrivalsAhead = 12;

/// The ledger's line of each variable that `arrival` names.
void fetch_variables(const Arrival& arrival) {
  for (const VarState* const var : arrival.all()) base::prefetch_to_write(&var->is_poisoned);
}

bool contains(Queues queues, const LaneQueue* queue) {
  for (const LaneQueue* const one : queues) {  // mostly there is one
    if (one == queue) return true;
  }
  return false;
}

/// How many of `arrivals` are for `queues`, and name only variables of which nothing is pending and
/// that carry no poison.
std::size_t count_free(std::span<const Arrival> arrivals, Queues queues) {
  std::size_t count = 0;
  for (; count != arrivals.size(); ++count) {
    if (count + kArrivalsAhead < arrivals.size()) {
      base::prefetch_to_read(&arrivals[count + kArrivalsAhead].task);
      base::prefetch_to_read(&arrivals[count + kArrivalsAhead].variables);
    }
    if (count + kVariablesAhead < arrivals.size()) {
      fetch_variables(arrivals[count + kVariablesAhead]);
    }
    const Arrival& arrival = arrivals[count];
    if (!contains(queues, arrival.queue) || !Tracker::is_free(arrival)) break;
  }
  return count;
}

/// Operations that have ended, told to the Generations those of one together.
class EndedTogether {
 public:
  explicit EndedTogether(Generations& generations) : generations_(generations) {}
  ~EndedTogether() { tell(); }
  EndedTogether(const EndedTogether&) = delete;
  EndedTogether& operator=(const EndedTogether&) = delete;
  void add(std::uint64_t generation) {
    if (generation != generation_) tell();
    generation_ = generation;
    ++count_;
  }

 private:
  void tell() {
    if (count_ != 0) generations_.end(generation_, std::exchange(count_, 0));
  }

  Generations& generations_;
  std::uint64_t generation_ = 0;
  std::size_t count_ = 0;
};

/// An arrival that some worker of a stretch runs.
struct Running {
  std::size_t number;
  std::size_t place;
};

/// In the order of the numbers; in `room`.
std::span<const Running> what_runs(const Stretch& stretch,
                                   std::array<Running, Stretch::kPlaces>& room) {
  auto end = room.begin();
  for (std::size_t place = 0; place != Stretch::kPlaces; ++place) {
    const std::size_t number = stretch.running_at(place);
    if (number == Stretch::kNone) continue;
    const auto after = std::find_if(room.begin(), end,
                                    [&](const Running& other) { return other.number > number; });
    std::move_backward(after, end, end + 1);
    *after = {number, place};
    ++end;
  }
  return {room.begin(), end};
}

}  // namespace

StretchPlace Ledger::enter_stretch(Queues queues, bool joins, Mailbox& own, ReadyList& ready) {
  const Turn turn(*this);
  own.take_own([&](Operation& op) { end_posted(op, ready); });
  collect_locked(ready);
  if (!ready.empty() || !operations_.try_reserve(1)) return {};  // what is ready comes first
  if (stretches_.current() == nullptr) {
    const StretchPlace begun = begin_stretch(queues);
    if (begun.stretch == nullptr) return begun;
  } else if (!joins || stretches_.current()->queue() != queues.front()) {
    return {};
  }
  Stretch& stretch = *stretches_.current();
  const std::size_t place = stretch.enter(operations_.next());
  if (place == Stretch::kPlaces) return {.is_near = true, .is_full = true};
  operations_.take();
  return {&stretch, place};
}

StretchPlace Ledger::begin_stretch(Queues queues) {
  Arrivals& arrivals = intake_.arrivals();
  if (arrivals.size() < base::kFewestInStretch) return {};
  const std::span<Arrival> next = arrivals.in_a_row();
  // Of what must wait until all before it is reported a stretch would have one.
  if (is_uncovered(next.front().generation)) return {};
  const std::size_t count = count_free(next, queues);
  if (count < base::kFewestInStretch && count != next.size()) {
    return {.is_near = contains(queues, next[count].queue) && Tracker::has_pending(next[count])};
  }
  Stretch* const stretch = stretches_.take();
  if (stretch == nullptr) return {};
  stretch->begin(next.first(count), arrivals.hold(), queues.size() == 1 ? queues.front() : nullptr);
  stretches_.set_current(stretch);
  return {.stretch = stretch};
}

void Ledger::dissolve_stretch() {
  const Turn turn(*this);
  dissolve_stretch_locked();
}

/// Those that have run end; those that run become operations.
void Ledger::dissolve_stretch_locked() {
  if (stretches_.current() == nullptr) return;
  Stretch& stretch = *stretches_.current();
  stretches_.set_current(nullptr);
  Arrivals& arrivals = intake_.arrivals();
  const std::size_t claimed = stretch.dissolve();
  std::array<Running, Stretch::kPlaces> running;
  const std::span<const Running> all = what_runs(stretch, running);
  auto next = all.begin();
  std::array<Arrival*, Stretch::kPlaces> runs;
  Tracker::Touched touched;
  {
    EndedTogether ended(generations_);
    for (std::size_t i = 0; i != claimed; ++i) {
      Arrival& arrival = stretch.arrival(i);
      const bool is_counted = arrivals.taken() + i < intake_.first_uncounted();
      if (next != all.end() && next->number == i) {
        if (!is_counted) generations_.add(arrival.generation);
        runs[static_cast<std::size_t>(next++ - all.begin())] = &arrival;
        continue;
      }
      if (is_counted) ended.add(arrival.generation);
      Tracker::pass(arrival, touched);
    }
  }
  arrivals.pop(claimed);
  arrivals.end_taking();
  touched.settle();
  ended_[static_cast<std::size_t>(Outcome::kCompleted)] += claimed - all.size();
  limit().give_back(claimed - all.size());
  for (std::size_t i = 0; i != all.size(); ++i) {
    place_running(stretch.become_operation(all[i].place), *runs[i]);
  }
}

void Ledger::place_running(Operation& op, const Arrival& arrival) {
  begin_from(op, arrival);
  std::construct_at(&op.task);
  op.phase.store(Operation::Phase::kRunning, std::memory_order_relaxed);
  tracker_.push(op, arrival);
}

Operation* Ledger::leave_stretch(Stretch& stretch, std::size_t place, bool has_failed) {
  const Turn turn(*this);
  if (stretches_.current() == &stretch) {
    if (!has_failed) stretch.rest(place);
    dissolve_stretch_locked();
  }
  const Stretch::Left left = stretch.leave(place);
  if (left.is_last) {
    intake_.arrivals().drop(stretch.chunk());
    stretches_.give_back(stretch);
  }
  if (left.is_operation) return left.operation;
  operations_.give_back(*left.operation);
  return nullptr;
}

}  // namespace heddle::detail
