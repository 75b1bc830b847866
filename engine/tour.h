#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/spin_lock.h"
#include "engine/base/sync.h"
#include "engine/failure.h"
#include "engine/lane_queue.h"
#include "engine/stretch.h"
#include "engine/taken_along.h"

namespace heddle::detail {

struct Worker;
class WorkerPool;

/// How a thread of a PoolGroup runs small operations of several lanes in the order in which they
/// have arrived (see Stretch): it takes the seat of a worker that sleeps, or is on its way, in
/// every other pool, too, so that it need not go from lane to lane. The threads of these sleep on.
///
/// If an operation takes long, other lanes must not wait for it. So a sleeping thread watches (see
/// PoolGroup), and displaces a thread that does not get on: that keeps the seat in the lane of
/// what it runs, which it may find out later, and all other seats are free again.
///
/// Thread safety: a tour belongs to its thread, but for what is said to be for any.
///
/// Invariants:
///  - One thread of a group is on tour at most. Its own worker counts as awake, and until it sets
///    out as searching. One whose seat it has taken counts as searching, so that nobody is woken
///    for what will be run anyway, and its seat as taken by a guest, so that nobody else runs
///    something there.
///  - Who ends a tour searches then, as those workers do no more: its thread, or who displaces it.
///  - Other workers leave to it what arrives. It takes seats only where nothing is queued or in a
///    batch, and looks for that again before each stretch; before each arrival it looks whether
///    something has come to that lane that goes first.
///  - From enter() to leave() it may be displaced; so long it touches no worker, and the seats only
///    to read them. Who displaces it has dissolved the stretch before: it claims nothing any more,
///    and at_ is the lane of what it has claimed last, if it has not ended yet.
class Tour {
 public:
  static constexpr std::size_t kMaxPools = 5;

  Tour() = default;
  Tour(const Tour&) = delete;
  Tour& operator=(const Tour&) = delete;

  /// True if one has begun for the worker `me`: me.stretch is what it has to run. If one was tried
  /// in vain `me` is `searching`.
  bool set_out(Worker& me, bool& searching);
  /// Runs it, and what comes after it. Then the tour is over: the thread searches, or is another
  /// worker, and runs nothing.
  void go_on(Worker& me);

  // For the PoolGroup.
  void begin(Worker& me);
  /// Takes a seat in each of `pools` where it has none and there is one.
  void gather(std::span<WorkerPool* const> pools);
  /// It has no other seat than that of its worker: nobody would watch it.
  bool is_alone() const { return count_ == 1; }
  void end();

  // By any thread.
  struct Look {
    std::uint64_t round = 0;  ///< which time it has entered a stretch; 0: it is in none
    std::uint64_t steps = 0;
    bool operator==(const Look&) const = default;
  };
  Look look();
  /// Ends the tour, unless that stretch is left. `pool` is any of the engine.
  bool displace(WorkerPool& pool, std::uint64_t round);
  /// Has one of the threads that sleep watch, unless it is over.
  void have_watched();

 private:
  struct Seat {
    WorkerPool* pool = nullptr;
    Worker* worker = nullptr;  ///< for the first one: of the thread itself
    TakenAlong::Mark taken_at = 0;
  };

  bool gather_and_enter(Worker& me, bool& searching, ReadyList& ready);
  bool enter_stretch(Worker& me, ReadyList& ready);
  FailurePtr run_arrivals(Stretch& stretch, WorkerPool& home);
  /// Until the stretch is known whatever comes to a pool may have to go before it. False if
  /// something has.
  bool prepare();
  void enter();
  bool leave();  ///< false if it was displaced
  /// It is going to run something of that pool; false if that has something else to do first.
  bool goes_to(const WorkerPool& pool);
  /// Before something that it runs: the time, or 0 for most.
  std::int64_t begin_measuring(const WorkerPool& pool);

  std::span<Seat> seats() { return {seats_.data(), count_}; }
  void add(WorkerPool& pool, Worker& worker);
  static Worker* borrow(WorkerPool& pool);
  static void give_back(const Seat& seat);
  static void forget_stretch(WorkerPool& pool);
  void change_worker(const Seat& kept);

  std::size_t count_ = 0;
  std::array<Seat, kMaxPools> seats_;
  std::array<const LaneQueue*, kMaxPools> queues_{};  ///< of the seats
  std::array<std::size_t, kMaxPools> seat_of_{};      ///< by the number of the pool
  base::Atomic<const WorkerPool*> at_{nullptr};       ///< of what it runs, or is going to
  base::Atomic<std::uint64_t> steps_{0};
  std::uint32_t ran_ = 0;

  base::SpinLock lock_;  ///< guards what follows, and for other threads what is above
  bool is_on_ = false;
  bool is_inside_ = false;
  std::uint64_t round_ = 0;
};

}  // namespace heddle::detail
