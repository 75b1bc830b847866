// How threads that wait get the seats of workers.

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/base/cpus.h"
#include "engine/worker_pool.h"

namespace heddle::detail {

Operation* WorkerPool::take_for_guest(const Wanted& wanted, bool& has_seat) {
  Worker* woken = nullptr;
  Operation* op = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_seat, false)) guests_.leave();
    // Small operations one thread runs faster than two, and a worker is at them.
    const bool is_in_the_way =
        wanted.node == nullptr && grain_.are_short() && idle_.count() < workers_.size();
    if (has_free_seat() && !is_in_the_way && !shares_cpu(nullptr, base::current_cpu()) &&
        open_runs_.empty() && !stopping_.load()) {
      empty_inbox();
      // What take() gives is another one now and then: one that was overtaken too often.
      const ReadyPlace place = wanted.covers(queue_.first()) ? queue_.take() : ReadyPlace{};
      if (wanted.covers(place)) {
        op = static_cast<Operation*>(place.node);
        const bool alone = queue_.empty() && idle_.count() == workers_.size();
        alone ? guests_.continue_streak() : guests_.end_streak();
        guests_.take();
        has_seat = true;
      } else if (place.node != nullptr) {
        queue_.put_back(place);
      }
    }
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
  // Others may have left to who takes this what they saw beside it.
  if (op != nullptr) group_.hand_over(*this);
  return op;
}

void WorkerPool::leave_seat() {
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    guests_.leave();
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
}

bool WorkerPool::shares_cpu(const Worker* me, int cpu) const {
  if (cpu < 0) return false;
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return worker.get() != me && worker->cpu.load(std::memory_order_relaxed) == cpu;
  });
}

bool WorkerPool::is_crowded() const {
  if (idle_.count() != 0 || !seems_to_have_work()) return false;
  const int here = base::current_cpu();
  bool crowded = false;
  for (const auto& worker : workers_) {
    const int cpu = worker->cpu.load(std::memory_order_relaxed);
    if (cpu >= 0 && cpu == here) return false;
    crowded = crowded || shares_cpu(worker.get(), cpu);
  }
  return crowded;
}

bool WorkerPool::ask_for_seat() {
  const std::lock_guard lock(mutex_);
  if (!guests_.ask()) return false;
  taken_.call_back();  // who has taken many along looks soon
  return true;
}

void WorkerPool::grant_seat(const Worker& me) {
  if (!guests_.is_asked()) return;
  if (idle_.count() != guests_.count()) return;  // it has none itself, or another one is free
  if (!shares_cpu(&me, base::current_cpu())) return;
  guests_.grant();
}

void WorkerPool::take_granted() {
  const std::lock_guard lock(mutex_);
  guests_.take_granted();
}

void WorkerPool::withdraw() {
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (guests_.withdraw()) {
      guests_.leave();
      woken = claim_sleeper();
    }
  }
  PoolGroup::wake(woken);
}

}  // namespace heddle::detail
