#include "engine/guest.h"

#include <utility>

#include "engine/threaded_engine.h"
#include "engine/worker_pool.h"

namespace heddle::detail {

bool Wanted::covers(const ReadyPlace& place) const {
  if (node != nullptr) return place.node == node && place.sequence == sequence;
  return place.node != nullptr && place.node->type == ReadyNode::Type::kOperation &&
         static_cast<const Operation*>(place.node)->generation < generations;
}

Guest::Own::Own(const WorkerPool& pool)
    : pool_(pool), device_(current_device()), openmp_threads_(pool.openmp().share_cpus()) {
  set_current_device(Device());
}

Guest::Own::~Own() {
  pool_.openmp().restore(openmp_threads_);
  set_current_device(device_);
}

Guest::Guest(ThreadedEngine& engine, WorkerPool& pool) : engine_(engine), pool_(pool) {}

Guest::~Guest() {
  if (made_ready_ != nullptr) pool_.put(*made_ready_);
  if (has_seat_) pool_.leave_seat();
  if (asks_) pool_.withdraw();
}

Operation* Guest::next(const Wanted& wanted) {
  if (has_seat_ && !pool_.seems_to_have_work()) pool_.take_in(nullptr, /*searching=*/false);
  Operation* const made_ready = std::exchange(made_ready_, nullptr);
  if (made_ready != nullptr) {
    if (wanted.covers(ReadyPlace::of(*made_ready)) && !pool_.seems_to_have_work()) {
      return made_ready;
    }
    pool_.put(*made_ready);
  }
  if (asks_ && pool_.has_granted()) {
    pool_.take_granted();
    asks_ = false;
    has_seat_ = true;
  }
  Operation* const op = pool_.take_for_guest(wanted, has_seat_);
  if (has_seat_ && std::exchange(asks_, false)) pool_.withdraw();
  return op;
}

bool Guest::asks_for_seat() {
  if (asks_ && pool_.has_granted()) return true;
  if (patience_ > 0 && pool_.is_crowded()) {
    --patience_;
    asks_ = asks_ || pool_.ask_for_seat();
    return asks_;
  }
  if (std::exchange(asks_, false)) pool_.withdraw();
  return false;
}

bool Guest::may_run() const {
  return has_seat_ || pool_.has_free_seat() || (asks_ && pool_.has_granted());
}

bool Guest::run(const Wanted& wanted) {
  Operation* const op = next(wanted);
  if (op == nullptr) return false;
  if (!own_) own_.emplace(pool_);
  ReadyList ready;
  if (engine_.run(*op, ready)) engine_.ledger().end(*op, ready);
  made_ready_ = ready.take_most_urgent_of(pool_);
  if (made_ready_ != nullptr && engine_.tracing()) made_ready_->extras->ready_at = now_ns();
  engine_.dispatch(ready);
  return true;
}

}  // namespace heddle::detail
