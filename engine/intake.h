#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "engine/arrivals.h"
#include "engine/pending_limit.h"
#include "engine/var_state.h"

namespace heddle::detail {

/// A push of what just runs on a worker, be it in the turn of a simulated stream. Refers to what
/// its caller holds.
struct PlainPush {
  Task& task;  ///< moved from once it is left
  VarList reads;
  VarList mutates;
  Device device;
  LaneQueue* queue;
  int priority;
  std::uint16_t flags;     ///< of the operation
  bool has_place = false;  ///< among the pending ones
};

/// What those who push share: the numbers of operations, the places among the pending ones, and the
/// plain pushes that nobody has taken in yet.
///
/// To push a plain operation is to write it down here, on lines that are read one after the other
/// later; what it waits for is the business of whoever takes it in, mostly a worker that has
/// nothing else to do, in whose cache the variables then stay.
///
/// Thread safety: lock() guards all that is not said to be for any thread or for who takes in.
///
/// Invariants:
///  - What is pushed otherwise is pushed with this lock and the ledger's, when all arrivals are
///    taken in: so the order of the numbers is the order in which operations get their places.
///  - Who takes in arrivals only when there is nothing else to do runs first what was pushed before
///    them. As that must be the order of the lane, all that is pending has one priority while there
///    are arrivals, but for deletions, which go before all.
///  - While a block is open (see Ledger) nobody leaves anything here but who pushes that.
///  - Arrivals before first_uncounted() are counted in the ledger's Generations; the others are of
///    the newest generation.
class Intake {
 public:
  Intake(std::uint64_t engine, std::size_t max_pending) : engine_(engine), limit_(max_pending) {}
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  base::SeenSpinLock& lock() { return arrivals_.lock(); }

  // By any thread; try_leave() by one that holds no lock.
  struct Left {
    std::uint64_t sequence = 0;  ///< 0: it is not left
    bool lacks_room = false;     ///< the caller must have a place first, and else calls push()
  };
  /// Ledger::push() for one that is made outside of operations, or nothing. Who has left one has
  /// its pool look for arrivals. `many`, which is moved from then: of one that names more variables
  /// than lie in an Arrival. Throws std::invalid_argument, in the name of `call`, and
  /// std::bad_alloc.
  Left try_leave(const PlainPush& push, std::string_view call,
                 std::unique_ptr<ManyVariables>* many = nullptr);
  /// False if there is none: see Arrivals::empty().
  bool has_arrivals() const { return !arrivals_.empty(); }
  /// The same, but may miss some.
  bool seems_to_have_arrivals() const { return !arrivals_.seems_empty(); }
  bool seem_fewer(std::uint64_t count) const { return arrivals_.seem_fewer(count); }

  // By who has the lock, or, while a block is open, by who pushes that.
  /// The first of `count` numbers that follow each other.
  std::uint64_t give_numbers(std::size_t count) {
    last_sequence_ += count;
    return last_sequence_ - count + 1;
  }
  std::uint64_t last_sequence() const { return last_sequence_; }
  /// Something of this priority is pushed, and is no deletion; `has_place` among the pending ones.
  /// True if it may be an arrival.
  bool keeps_order(int priority, bool has_place);
  /// After reserve(), of one that has a place, keeps the order, and names usable variables.
  void leave(const PlainPush& push, std::unique_ptr<ManyVariables> many);
  void reserve(std::size_t count) { arrivals_.reserve(count); }  ///< throws std::bad_alloc
  /// A push names these, before it has its place.
  static void name(VarList variables) {
    for (std::size_t i = 0; i < variables.size(); ++i) ++variables[i]->named;
  }
  void set_block_open(bool is_open) { is_block_open_ = is_open; }
  /// What has arrived and is not taken in: the caller has counted it.
  void set_counted() { first_uncounted_ = arrivals_.published(); }
  /// Of what arrives from now on. All else is counted.
  void set_generation(std::uint64_t generation) { generation_ = generation; }

  // By who has the ledger's lock.
  bool is_block_open() const { return is_block_open_; }
  std::uint64_t first_uncounted() const { return first_uncounted_; }
  Arrivals& arrivals() { return arrivals_; }
  PendingLimit& limit() { return limit_; }
  const PendingLimit& limit() const { return limit_; }

 private:
  /// Throws std::invalid_argument.
  void check(const PlainPush& push, std::string_view call) const;
  /// Writes them down from `next` on, and returns the end, or null if one is not usable.
  VarState** list(VarList variables, VarState** next) const;
  static void add_many(Arrival& arrival, std::unique_ptr<ManyVariables> many);
  /// Fills in what does not say which variables it names, and returns its number.
  std::uint64_t publish(Arrival& arrival, const PlainPush& push);

  const std::uint64_t engine_;
  Arrivals arrivals_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t first_uncounted_ = 0;
  int priority_ = 0;  ///< of all that is pending, unless has_priorities_
  bool has_priorities_ = false;
  bool is_block_open_ = false;
  PendingLimit limit_;
};

inline bool Intake::keeps_order(int priority, bool has_place) {
  if (!has_priorities_ && priority == priority_) return true;
  has_priorities_ = limit_.pending() > (has_place ? 1U : 0U);
  priority_ = priority;
  return !has_priorities_;
}

inline void Intake::check(const PlainPush& push, std::string_view call) const {
  check_usable(push.mutates, push.reads, engine_, call);
}

/// Inline, so that the push of who calls need not lie in memory.
[[gnu::always_inline]] inline VarState** Intake::list(VarList variables, VarState** next) const {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    VarState* const variable = variables[i];
    if (!is_usable(variable, engine_)) [[unlikely]] {
      return nullptr;
    }
    *next++ = variable;
  }
  return next;
}

inline void Intake::add_many(Arrival& arrival, std::unique_ptr<ManyVariables> many) {
  arrival.many = many.release();
  arrival.queue = nullptr;
  arrival.mutate_count = arrival.read_count = 0;
}

[[gnu::always_inline]] inline std::uint64_t Intake::publish(Arrival& arrival,
                                                            const PlainPush& push) {
  name(push.mutates);
  name(push.reads);
  const std::uint64_t sequence = give_numbers(1);
  ::new (&arrival.task) Task(std::move(push.task));
  arrival.device = push.device;
  arrival.priority = push.priority;
  arrival.flags = push.flags;
  arrival.generation = generation_;
  arrival.sequence = sequence;
  arrivals_.publish();
  return sequence;
}

inline void Intake::leave(const PlainPush& push, std::unique_ptr<ManyVariables> many) {
  Arrival& arrival = arrivals_.next();
  if (many == nullptr) {
    list(push.reads, list(push.mutates, arrival.variables.data()));
    arrival.queue = push.queue;
    arrival.mutate_count = static_cast<std::uint8_t>(push.mutates.size());
    arrival.read_count = static_cast<std::uint8_t>(push.reads.size());
  } else {
    add_many(arrival, std::move(many));
  }
  publish(arrival, push);
}

[[gnu::always_inline]] inline Intake::Left Intake::try_leave(const PlainPush& push,
                                                             std::string_view call,
                                                             std::unique_ptr<ManyVariables>* many) {
  const std::lock_guard held(lock());
  if (is_block_open_ || limit_.stopped()) [[unlikely]] {
    return {};
  }
  if (!push.has_place && (limit_.has_line() || !limit_.has_room())) [[unlikely]] {
    check(push, call);
    return {.lacks_room = true};
  }
  if (!keeps_order(push.priority, push.has_place)) [[unlikely]] {
    return {};
  }
  Arrival& arrival = arrivals_.next();
  if (many == nullptr) {
    VarState** end = list(push.mutates, arrival.variables.data());
    if (end != nullptr) end = list(push.reads, end);
    if (end == nullptr) [[unlikely]] {
      refuse_variables(push.mutates, push.reads, engine_, call);
    }
    arrival.queue = push.queue;
    arrival.mutate_count = static_cast<std::uint8_t>(push.mutates.size());
    arrival.read_count = static_cast<std::uint8_t>(push.reads.size());
  } else {
    check(push, call);
    add_many(arrival, std::move(*many));
  }
  if (!push.has_place) limit_.take();
  return {.sequence = publish(arrival, push)};
}

}  // namespace heddle::detail
