#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/cpus.h"
#include "engine/base/sync.h"
#include "engine/worker.h"

namespace heddle::detail {

/// Which workers of a pool run nothing: those that search for work, nap, or sleep.
///
/// Thread safety: members that are const and those that only count may be called from any thread,
/// asleep_, coming_, and what is kept off are guarded by the pool's lock.
///
/// Invariants:
///  - A sleeping worker counts in sleeping(), and may be claimed as soon as it is in asleep_: then
///    it counts as searching, and so as awake, before its thread or another one for it is there;
///    or nobody comes, as somebody just wants its seat (see Tour).
///  - One that is in coming_ is claimed, and nobody but the thread that is woken for it, or who
///    recalls it before that one is there, does anything with it.
///  - All counters are sequentially consistent, but has_coming() is a hint: see WorkerPool and
///    PoolGroup for what meets there.
class IdleWorkers {
 public:
  explicit IdleWorkers(std::size_t workers) : workers_(workers) {
    asleep_.reserve(workers);
    coming_.reserve(workers);
  }

  std::uint32_t sleeping() const { return sleeping_.load(); }
  std::uint32_t searching() const { return searching_.load(); }
  std::uint32_t napping() const { return napping_.load(); }
  /// Under the lock it is at most one too few for each that is just going to take the lock.
  std::uint32_t count() const { return sleeping() + searching() + napping(); }
  /// Workers that run or look for something.
  std::size_t awake() const { return workers_ - sleeping() - napping(); }
  /// One was woken and is not here yet.
  bool has_coming() const { return coming_count_.load(std::memory_order_relaxed) != 0; }
  /// One searches that is no more on its way here.
  bool has_searcher() const { return searching() > coming_count_.load(); }
  /// Some search, and all of them are still on their way.
  bool are_all_coming() const { return has_coming() && !has_searcher(); }
  /// A worker sleeps, none searches, and none that naps will see what those that are awake leave.
  bool lack_searcher() const {
    const std::uint32_t asleep = sleeping();
    if (asleep == 0 || searching() != 0) return false;
    const std::uint32_t naps = napping();
    return naps == 0 || asleep + naps >= workers_;
  }

  void begin_search() { searching_.fetch_add(1); }
  /// The same for one that has run something until now.
  void begin_search(Worker& worker) {
    worker.cpu.store(-1, std::memory_order_relaxed);
    begin_search();
  }
  void end_search() { searching_.fetch_sub(1); }
  void begin_nap(bool searching) {
    napping_.fetch_add(1);
    if (searching) end_search();
  }
  void end_nap() { napping_.fetch_sub(1); }

  /// Counts a worker as asleep, before the last look.
  void begin_sleep(bool searching) {
    sleeping_.fetch_add(1);
    if (searching) end_search();
  }
  void cancel_sleep() { sleeping_.fetch_sub(1); }

  // With the lock.
  /// After that look. True if its thread should keep off the CPU `avoided`, of who pushes (-1:
  /// none), as no other one does: who pushes wakes that one first. The others must be free to go
  /// there, as it may be the only idle one.
  bool lie_down(Worker& worker, int avoided = -1) {
    worker.is_asleep = true;
    worker.slept_on = base::current_cpu();
    asleep_.push_back(&worker);
    if (avoided < 0 || kept_off_ != nullptr) return false;
    kept_off_ = &worker;
    kept_off_cpu_ = avoided;
    return true;
  }
  /// Another thread is the worker now, which sleeps anywhere.
  void forget_kept_off(const Worker& worker) {
    if (kept_off_ == &worker) kept_off_ = nullptr;
  }
  bool can_claim() const { return !asleep_.empty(); }
  /// A sleeping worker, that now counts as searching. There is one. On a CPU that one keeps off it
  /// is that; else rather not one that slept on the caller's CPU: the system might put it there
  /// again, to wait.
  Worker& claim() {
    const int here = base::current_cpu();
    const bool is_kept_off = kept_off_ != nullptr && kept_off_cpu_ == here;
    Worker& worker = is_kept_off ? *kept_off_ : last_elsewhere(here);
    get_up(worker);
    return worker;
  }
  void get_up(Worker& worker) {
    worker.is_asleep = false;
    std::erase(asleep_, &worker);
    forget_kept_off(worker);
    sleeping_.fetch_sub(1);
    begin_search();
  }
  /// For who wakes what it has claimed.
  void expect(Worker& worker) {
    coming_.push_back(&worker);
    count_coming();
  }
  /// A worker that was claimed and woken is here.
  void arrive(const Worker& worker) {
    std::erase(coming_, &worker);
    count_coming();
  }
  /// One that was woken and is not here yet, as if the caller had claimed it; the thread that was
  /// woken sleeps on. Or null. Not of a pool that stops: they are woken to come to their end.
  Worker* recall() {
    for (Worker* const worker : coming_) {
      if (!worker->self->sleep_on()) continue;
      arrive(*worker);
      return worker;
    }
    return nullptr;
  }

 private:
  Worker& last_elsewhere(int here) const {
    const auto elsewhere = std::find_if(asleep_.rbegin(), asleep_.rend(), [&](const Worker* other) {
      return other != kept_off_ && other->slept_on != here;
    });
    return elsewhere != asleep_.rend() ? **elsewhere : *asleep_.back();
  }
  void count_coming() { coming_count_.store(static_cast<std::uint32_t>(coming_.size())); }

  const std::size_t workers_;
  std::vector<Worker*> asleep_;
  std::vector<Worker*> coming_;  ///< of the searching ones
  Worker* kept_off_ = nullptr;   ///< of those asleep, the one whose thread should keep off a CPU
  int kept_off_cpu_ = -1;        ///< that one
  alignas(64) base::Atomic<std::uint32_t> searching_{0};
  base::Atomic<std::uint32_t> coming_count_{0};
  base::Atomic<std::uint32_t> napping_{0};
  /// Apart, as who puts something into the inbox reads it.
  alignas(64) base::Atomic<std::uint32_t> sleeping_{0};
};

}  // namespace heddle::detail
