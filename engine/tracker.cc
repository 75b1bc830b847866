#include "engine/tracker.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/operation_scope.h"

namespace heddle::detail {
namespace {

/// True if `access` may go ahead as far as `epoch`'s write is concerned.
bool write_suffices(const Epoch& epoch, const Operation& op) {
  return epoch.write_done || (op.follows_issued && epoch.write_issued);
}

bool reads_suffice(const Epoch& epoch, const Operation& op) {
  return epoch.readers == nullptr || (op.follows_issued && epoch.unissued_readers == 0);
}

/// True if nothing that `waiter` waits for is left in `epoch`.
bool is_over(const Epoch& epoch, const Waiter& waiter) {
  if (!epoch.write_done) return false;
  return !waiter.reads_too || epoch.readers == nullptr ||
         epoch.readers->operation->sequence > waiter.last_sequence;
}

void link_reader(Epoch& epoch, Access& access) {
  if (epoch.readers == nullptr) {
    epoch.readers = access.previous = access.next = &access;
    return;
  }
  Access& first = *epoch.readers;
  access.previous = first.previous;
  access.next = &first;
  access.previous->next = first.previous = &access;
}

void unlink_reader(Epoch& epoch, Access& access) {
  if (access.next == &access) {
    epoch.readers = nullptr;
    return;
  }
  access.previous->next = access.next;
  access.next->previous = access.previous;
  if (epoch.readers == &access) epoch.readers = access.next;
}

/// The reader after `access`, or null at the end of the ring.
Access* next_reader(const Epoch& epoch, const Access& access) {
  return access.next == epoch.readers ? nullptr : access.next;
}

void grant(Access& access, ReadyList& ready) {
  access.granted = true;
  Operation& op = *access.operation;
  if (op.not_granted.fetch_sub(1, std::memory_order_acq_rel) == 1) ready.push(op);
}

void grant_readers(Epoch& epoch, ReadyList& ready) {
  for (Access* access = epoch.readers; access != nullptr; access = next_reader(epoch, *access)) {
    if (!access->granted && write_suffices(epoch, *access->operation)) grant(*access, ready);
  }
}

void grant_newer_writer(Epoch& epoch, ReadyList& ready) {
  if (epoch.newer == nullptr || epoch.newer->writer == nullptr) return;
  Access& writer = *epoch.newer->writer;
  if (writer.granted) return;
  if (write_suffices(epoch, *writer.operation) && reads_suffice(epoch, *writer.operation)) {
    grant(writer, ready);
  }
}

void wake_waiters(Epoch& epoch) {
  for (Waiter** link = &epoch.waiters; *link != nullptr;) {
    Waiter& waiter = **link;
    if (is_over(epoch, waiter)) {
      *link = waiter.next;
      waiter.epoch = nullptr;
      waiter.poison = epoch.poison;
      waiter.wake(Waiter::State::kDone);
    } else {
      link = &waiter.next;
    }
  }
}

/// False if it is in no list any more.
bool unlink(Waiter& waiter) {
  Waiter** link = &waiter.epoch->waiters;
  while (*link != nullptr && *link != &waiter) link = &(*link)->next;
  if (*link == nullptr) return false;
  *link = waiter.next;
  waiter.epoch = nullptr;
  return true;
}

/// Takes `epoch`, of which nothing is left to end, from the list of versions.
Epoch* retire(Epoch& epoch) {
  epoch.newer->older = nullptr;
  epoch.poison = nullptr;
  return &epoch;
}

/// Keeps of each stream the latest token only.
void merge_token(std::vector<device::Token>& tokens, device::Token token) {
  for (device::Token& known : tokens) {
    if (known.stream() != token.stream()) continue;
    if (known.sequence() < token.sequence()) known = token;
    return;
  }
  tokens.push_back(token);
}

[[noreturn]] void throw_stopped() {
  throw EngineStopped("the engine was shut down before what was waited for had ended");
}

std::string_view call_name(const Operation& op) {
  return op.kind == Submission::Kind::kRun ? "Engine::push" : std::string_view(op.name);
}

}  // namespace

void Tracker::take_epochs(Operation& op, std::size_t count) {
  std::size_t taken = 0;
  try {
    for (; taken < count; ++taken) op.accesses()[taken].epoch = epochs_.take();
  } catch (...) {
    put_back_epochs(op, 0, taken);
    throw;
  }
}

void Tracker::put_back_epochs(Operation& op, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) epochs_.put(*op.accesses()[i].epoch);
}

std::uint64_t Tracker::push(Operation& op, VarList reads, VarList mutates, ReadyList& ready) {
  const OperationScope* parent = OperationScope::of(engine_);
  const std::lock_guard order(order_lock_);
  for (std::size_t i = 0; i < mutates.size(); ++i) {
    check_usable(mutates[i], engine_.id(), call_name(op));
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    check_usable(reads[i], engine_.id(), call_name(op));
  }
  take_epochs(op, mutates.size());  // the last step that may throw

  const std::uint64_t sequence = op.sequence = ++last_sequence_;
  op.generation = parent != nullptr ? parent->generation() : &generations_.newest();
  Generations::add(*op.generation);

  const auto most = static_cast<std::uint32_t>(reads.size() + mutates.size());
  op.not_granted.store(most + 1, std::memory_order_relaxed);
  std::uint32_t count = 0;
  std::uint32_t granted = 0;
  // Mutated variables first: one that is also read counts as mutated.
  for (std::size_t i = 0; i < mutates.size(); ++i) {
    VarState& var = *mutates[i];
    if (std::exchange(var.last_push, sequence) == sequence) continue;
    if (add_write(op, op.accesses()[count++], var)) ++granted;
  }
  put_back_epochs(op, count, mutates.size());  // of those named twice
  for (std::size_t i = 0; i < reads.size(); ++i) {
    VarState& var = *reads[i];
    if (std::exchange(var.last_push, sequence) == sequence) continue;
    if (add_read(op, op.accesses()[count++], var)) ++granted;
  }
  op.access_count = count;
  if (op.kind == Submission::Kind::kDelete) mutates[0]->deleted = true;
  if (granted == count) {  // nobody else is going to grant anything
    ready.push(op);
  } else {
    const std::uint32_t settled = most - count + granted + 1;
    if (op.not_granted.fetch_sub(settled, std::memory_order_acq_rel) == settled) ready.push(op);
  }
  return sequence;
}

bool Tracker::add_read(Operation& op, Access& access, VarState& var) {
  const std::lock_guard lock(var.lock);
  if (var.accesses++ == 0) retain(&var);
  Epoch& epoch = *var.newest;
  access = {.operation = &op, .var = &var, .epoch = &epoch};
  link_reader(epoch, access);
  ++epoch.unissued_readers;
  return access.granted = write_suffices(epoch, op);
}

bool Tracker::add_write(Operation& op, Access& access, VarState& var) {
  Epoch& epoch = *access.epoch;
  epoch = Epoch();
  access = {.operation = &op, .var = &var, .epoch = &epoch, .write = true};
  epoch.writer = &access;
  epoch.write_issued = epoch.write_done = false;
  const std::lock_guard lock(var.lock);
  Epoch& older = *var.newest;
  var.newest = &epoch;
  if (var.accesses++ == 0) {
    retain(&var);
    if (var.is_clean) {  // the older version's line stays where it is
      epochs_.put(older);
      return access.granted = true;
    }
  }
  epoch.older = &older;
  older.newer = &epoch;
  access.granted = write_suffices(older, op) && reads_suffice(older, op);
  if (older.write_done) {
    epoch.poison = older.poison;
    if (older.readers == nullptr) epochs_.put(*retire(older));
  }
  return access.granted;
}

bool Tracker::may_end(Operation& op) {
  auto stage = Operation::Stage::kPushed;
  if (op.stage.compare_exchange_strong(stage, Operation::Stage::kEndedEarly)) return false;
  // Were it left to the issuer now, a consumer that it has just released could overtake the end.
  while (stage == Operation::Stage::kIssuing) {
    std::this_thread::yield();
    stage = op.stage.load();
  }
  return true;
}

bool Tracker::issued(Operation& op, ReadyList& ready) {
  auto expected = Operation::Stage::kPushed;
  if (!op.stage.compare_exchange_strong(expected, Operation::Stage::kIssuing)) return false;
  for (std::uint32_t i = 0; i < op.access_count; ++i) {
    Access& access = op.accesses()[i];
    const std::lock_guard lock(access.var->lock);
    Epoch& epoch = *access.epoch;
    if (access.write) {
      epoch.write_issued = true;
      grant_readers(epoch, ready);
    } else {
      --epoch.unissued_readers;
      access.issued = true;
    }
    grant_newer_writer(epoch, ready);
  }
  op.stage.store(Operation::Stage::kIssued);
  return true;
}

void Tracker::waits(const Operation& op, std::vector<device::Token>& tokens) {
  tokens.clear();
  for (std::uint32_t i = 0; i < op.access_count; ++i) {
    const Access& access = op.accesses()[i];
    const std::lock_guard lock(access.var->lock);
    const Epoch* epoch = access.write ? access.epoch->older : access.epoch;
    if (epoch == nullptr) continue;
    if (epoch->writer != nullptr) merge_token(tokens, epoch->writer->operation->token);
    if (!access.write) continue;
    for (const Access* reader = epoch->readers; reader != nullptr;
         reader = next_reader(*epoch, *reader)) {
      merge_token(tokens, reader->operation->token);
    }
  }
}

FailurePtr Tracker::inherited(const Operation& op) {
  if (op.kind != Submission::Kind::kRun) return nullptr;
  FailurePtr first;
  for (std::uint32_t i = 0; i < op.access_count; ++i) {
    const Access& access = op.accesses()[i];
    const FailurePtr& poison = access.epoch->poison;
    if (poison != nullptr && !(access.write && op.overwrites)) first = earlier(first, poison);
  }
  return first;
}

void Tracker::done(Operation& op, const FailurePtr& poison, ReadyList& ready) {
  for (std::uint32_t i = 0; i < op.access_count; ++i) {
    end_access(op.accesses()[i], poison, ready);
  }
  Generation& generation = *op.generation;
  ended_operations_.put(op);
  generations_.end(generation);
}

void Tracker::end_access(Access& access, const FailurePtr& poison, ReadyList& ready) {
  VarState& var = *access.var;
  Epoch* retired = nullptr;
  bool is_last = false;
  {
    const std::lock_guard lock(var.lock);
    retired = access.write ? end_write(access, poison, ready) : end_read(access, ready);
    is_last = --var.accesses == 0;
    if (is_last) var.is_clean = var.newest->poison == nullptr;
  }
  if (retired != nullptr) retired_epochs_.put(*retired);
  if (is_last) release(&var);
}

Epoch* Tracker::end_read(Access& access, ReadyList& ready) {
  Epoch& epoch = *access.epoch;
  unlink_reader(epoch, access);
  if (!access.issued) --epoch.unissued_readers;
  if (epoch.waiters != nullptr) wake_waiters(epoch);
  grant_newer_writer(epoch, ready);
  const bool is_over = epoch.newer != nullptr && epoch.write_done && epoch.readers == nullptr;
  return is_over ? retire(epoch) : nullptr;
}

Epoch* Tracker::end_write(Access& access, const FailurePtr& poison, ReadyList& ready) {
  Epoch& epoch = *access.epoch;
  if (access.operation->kind != Submission::Kind::kClear) ++access.var->version;
  epoch.writer = nullptr;
  epoch.write_issued = epoch.write_done = true;
  epoch.poison = poison;
  if (epoch.newer != nullptr) epoch.newer->poison = poison;
  if (epoch.waiters != nullptr) wake_waiters(epoch);
  grant_readers(epoch, ready);
  grant_newer_writer(epoch, ready);
  return epoch.newer != nullptr && epoch.readers == nullptr ? retire(epoch) : nullptr;
}

FailurePtr Tracker::wait_for_var(VarState* var, bool reads_too) {
  Waiter waiter;
  waiter.reads_too = reads_too;
  waiter.var = var;
  {
    const std::lock_guard order(order_lock_);
    check_usable(var, engine_.id(), "Engine::wait_for_var");
    waiter.last_sequence = last_sequence_;
    const std::lock_guard lock(var->lock);
    if (is_over(*var->newest, waiter)) return var->newest->poison;
  }
  {
    const std::lock_guard lock(waiters_mutex_);
    if (stopped_.load()) throw_stopped();
    waiters_.push_back(&waiter);
  }
  wait_blocking(waiter);
  return waiter.poison;
}

/// What was pushed since the caller looked may be waited for, too.
void Tracker::wait_blocking(Waiter& waiter) {
  auto state = Waiter::State::kDone;
  {
    std::unique_lock order(order_lock_);
    std::unique_lock lock(waiter.var->lock);
    Epoch& epoch = *waiter.var->newest;
    waiter.last_sequence = last_sequence_;
    order.unlock();
    if (is_over(epoch, waiter)) {
      waiter.poison = epoch.poison;
    } else if (stopped_.load()) {
      state = Waiter::State::kStopped;
    } else {
      waiter.epoch = &epoch;
      waiter.next = std::exchange(epoch.waiters, &waiter);
      lock.unlock();
      state = waiter.wait();
      lock.lock();  // who woke it does not touch it any more
    }
  }
  {
    const std::lock_guard lock(waiters_mutex_);
    std::erase(waiters_, &waiter);
  }
  if (state == Waiter::State::kStopped) throw_stopped();
}

void Tracker::wait_for_all() {
  Waiter waiter;
  {
    const std::lock_guard order(order_lock_);
    if (!generations_.begin_wait(waiter)) return;
  }
  if (stopped_.load()) generations_.stop();
  const Waiter::State state = waiter.wait();
  generations_.end_wait();
  if (state == Waiter::State::kStopped) throw_stopped();
}

void Tracker::stop_waiters() {
  stopped_.store(true);
  generations_.stop();
  const std::lock_guard lock(waiters_mutex_);
  for (Waiter* const waiter : waiters_) {
    const std::lock_guard var_lock(waiter->var->lock);
    if (waiter->epoch != nullptr && unlink(*waiter)) waiter->wake(Waiter::State::kStopped);
  }
}

std::uint64_t Tracker::version(VarState* var) const {
  const std::lock_guard order(order_lock_);
  check_usable(var, engine_.id(), "Engine::version");
  const std::lock_guard lock(var->lock);
  return var->version;
}

std::string Tracker::describe_writer(VarState* var) const {
  const std::lock_guard order(order_lock_);
  check_usable(var, engine_.id(), "Engine::wait_for_var");
  const std::lock_guard lock(var->lock);
  const std::string who = "variable '" + var->name + "'";
  if (var->newest->writer == nullptr) {
    return who + ", which has no pending writer";
  }
  const Operation& writer = *var->newest->writer->operation;
  return who + ", to be written by '" + (writer.name.empty() ? "operation" : writer.name.str()) +
         "' #" + std::to_string(writer.sequence);
}

}  // namespace heddle::detail
