#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

#include "engine/arrivals.h"
#include "engine/base/prefetch.h"
#include "engine/base/spin_lock.h"
#include "engine/base/sync.h"
#include "engine/ready_node.h"

namespace heddle::detail {

/// Pushes that have arrived one after the other, and that workers begin in this order before
/// anybody has found out which of them wait for which. To begin the next one it is enough to know
/// that it waits for none of the few that run; as long as no other thread asks, nobody needs to
/// know more.
///
/// Whoever does ask dissolves the stretch: what runs gets its place among the pending operations
/// then, and what has not begun is taken in like any other arrival.
///
/// A worker that is alone claims with one atomic operation. When another one joins it, both claim
/// under lock_.
///
/// Thread safety: what is said to be of the ledger's lock is guarded by it; claim() belongs to the
/// worker that has the place.
///
/// Invariants:
///  - Arrivals before the next one have been claimed. Those of them that running_ does not name
///    have run, which is seen by who claims or dissolves afterwards.
///  - No two that run conflict.
///  - An arrival is claimed, or what it holds is moved out of it by who has dissolved the stretch:
///    both change claimed_, or take lock_, and so one of the two comes first. The claims of who is
///    alone release what it has run before, which share() acquires.
///  - A place is taken from enter() to leave(); so long the chunk of the arrivals is held.
template <std::size_t kChunk>
class BasicStretch : public ReadyNode {
 public:
  static constexpr std::size_t kMost = kChunk;
  static constexpr std::size_t kPlaces = 16;
  using Chunk = typename BasicArrivals<kChunk>::Chunk;

  enum class Claim : std::uint8_t {
    kSome,
    kBlocked,  ///< the next one waits for what another worker runs
    kRest,     ///< all are claimed, and others run some
    kEnd,      ///< all have run
    kLeave,    ///< others have dissolved it, or the next one is of a generation that must wait
  };
  /// For running_: nothing.
  static constexpr std::uint8_t kNone = kChunk;

  BasicStretch() { type = Type::kStretch; }
  BasicStretch(const BasicStretch&) = delete;
  BasicStretch& operator=(const BasicStretch&) = delete;

  // With the ledger's lock.
  /// Of `arrivals`, which lie in `chunk`; all of that queue, or if null of several.
  void begin(std::span<Arrival> arrivals, Chunk& chunk, const LaneQueue* queue) {
    arrivals_ = arrivals;
    queue_ = queue;
    chunk_ = &chunk;
    alone_next_ = 0;
    next_ = 0;
    is_alone_ = true;
    is_shared_ = is_dissolved_ = false;
    places_ = 0;
    running_.fill(kNone);
    claimed_.store(0, std::memory_order_relaxed);
  }
  Chunk& chunk() const { return *chunk_; }
  const LaneQueue* queue() const { return queue_; }
  Arrival& arrival(std::size_t number) const { return arrivals_[number]; }
  const Arrival& last() const { return arrivals_.back(); }
  std::size_t size() const { return arrivals_.size(); }
  /// A place for a worker: the first one is for the one that is alone at first. If the stretch is
  /// dissolved `op` becomes what it runs then. kPlaces if there is none, or nothing to claim.
  std::size_t enter(Operation& op) {
    const auto free = std::find_if(seats_.begin(), seats_.end(),
                                   [](const Seat& seat) { return seat.operation == nullptr; });
    if (free == seats_.end()) return kPlaces;
    const std::lock_guard held(lock_);
    if (free != seats_.begin()) {
      share();
      if (is_dissolved_ || next_ == size()) return kPlaces;
      for (std::size_t i = next_; i != size(); ++i) {
        base::prefetch_to_read(&arrivals_[i].variables);
      }
    }
    *free = {&op, false};
    const auto place = static_cast<std::size_t>(free - seats_.begin());
    places_ = std::max(places_, static_cast<std::uint8_t>(place + 1));
    return place;
  }
  /// What the worker has run last has ended.
  void rest(std::size_t place) {
    const std::lock_guard held(lock_);
    share();
    running_[place] = kNone;
  }
  /// From now on nothing is claimed. Returns how many were; running_at() says which of them run.
  std::size_t dissolve() {
    const std::lock_guard held(lock_);
    share();
    is_dissolved_ = true;
    return next_;
  }
  std::size_t running_at(std::size_t place) const { return running_[place]; }
  /// What the worker has claimed last is an operation now. Returns that.
  Operation& become_operation(std::size_t place) {
    seats_[place].is_operation = true;
    return *seats_[place].operation;
  }
  struct Left {
    Operation* operation;  ///< that was given to enter()
    bool is_operation;     ///< what the worker has run last
    bool is_last;          ///< no other place is taken
  };
  /// The worker is done with it. After dissolve().
  Left leave(std::size_t place) {
    const Seat seat = std::exchange(seats_[place], Seat{});
    const bool is_last = std::all_of(seats_.begin(), seats_.end(),
                                     [](const Seat& other) { return other.operation == nullptr; });
    return {seat.operation, seat.is_operation, is_last};
  }

  /// The queue of the next one, for the worker that has begun it; null if it has claimed all.
  LaneQueue* next_queue() const {
    return alone_next_ != size() ? arrivals_[alone_next_].queue : nullptr;
  }
  /// The next one, for the worker with `place`, which has run what it has claimed before.
  Claim claim(std::size_t place, std::uint64_t first_uncovered, Arrival*& arrival) {
    if (place != 0 || !is_alone_) return claim_shared(place, first_uncovered, arrival);
    if (alone_next_ == size()) return Claim::kEnd;
    if (must_leave(alone_next_, first_uncovered)) return Claim::kLeave;
    if (claimed_.fetch_add(1, std::memory_order_release) >= kShared) {
      is_alone_ = false;
      return claim_shared(place, first_uncovered, arrival);
    }
    arrival = &arrivals_[alone_next_++];
    return Claim::kSome;
  }

 private:
  static constexpr std::uint32_t kShared = std::uint32_t{1} << 31U;

  struct Seat {
    Operation* operation = nullptr;
    bool is_operation = false;
  };

  /// Ends what were claims of the worker that was alone. With lock_.
  void share() {
    if (std::exchange(is_shared_, true)) return;
    next_ = static_cast<std::uint8_t>(claimed_.exchange(kShared, std::memory_order_acquire));
    if (next_ != 0) running_[0] = static_cast<std::uint8_t>(next_ - 1);
  }
  /// What has run must be reported first.
  bool must_leave(std::size_t next, std::uint64_t first_uncovered) const {
    return next != 0 && arrivals_[next].generation >= first_uncovered;
  }
  Claim claim_shared(std::size_t place, std::uint64_t first_uncovered, Arrival*& arrival) {
    const std::lock_guard held(lock_);
    if (is_dissolved_) return Claim::kLeave;
    running_[place] = kNone;
    const std::span<const std::uint8_t> all(running_.data(), places_);
    if (next_ == size()) {
      const bool is_end =
          std::all_of(all.begin(), all.end(), [](std::uint8_t other) { return other == kNone; });
      return is_end ? Claim::kEnd : Claim::kRest;
    }
    if (must_leave(next_, first_uncovered)) return Claim::kLeave;
    for (const std::uint8_t other : all) {
      if (other != kNone && conflict(arrivals_[next_], arrivals_[other])) return Claim::kBlocked;
    }
    running_[place] = next_;
    arrival = &arrivals_[next_++];
    return Claim::kSome;
  }

  // Of the worker that has begun it.
  std::span<Arrival> arrivals_;  ///< for all of them, as the next one
  Chunk* chunk_ = nullptr;
  std::size_t alone_next_ = 0;
  bool is_alone_ = true;  ///< as far as it knows
  base::Atomic<std::uint32_t> claimed_{0};

  // Guarded by the ledger's lock.
  std::array<Seat, kPlaces> seats_;
  const LaneQueue* queue_ = nullptr;  ///< of all arrivals, if there is one

  /// Guards what follows, until it is dissolved; then the ledger's does. One line, that goes from
  /// worker to worker.
  alignas(64) base::SpinLock lock_;
  bool is_shared_ = false;
  bool is_dissolved_ = false;
  std::uint8_t places_ = 0;                      ///< those after them have never been taken
  std::uint8_t next_ = 0;                        ///< once it is shared
  std::array<std::uint8_t, kPlaces> running_{};  ///< what each runs, or kNone
};

using Stretch = BasicStretch<64>;

}  // namespace heddle::detail
