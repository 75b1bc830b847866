#include "engine/tracker.h"

#include <algorithm>
#include <mutex>
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
  access.previous = epoch.last_reader;
  access.next = nullptr;
  (epoch.last_reader != nullptr ? epoch.last_reader->next : epoch.readers) = &access;
  epoch.last_reader = &access;
}

void unlink_reader(Epoch& epoch, Access& access) {
  (access.previous != nullptr ? access.previous->next : epoch.readers) = access.next;
  (access.next != nullptr ? access.next->previous : epoch.last_reader) = access.previous;
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

Tracker::~Tracker() {
  while (free_epochs_ != nullptr) delete std::exchange(free_epochs_, free_epochs_->newer);
  Operation* unused = unused_.load();
  while (unused != nullptr) delete std::exchange(unused, unused->next_ready);
}

Operation* Tracker::take_unused() {
  if (unused_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  const std::lock_guard lock(lock_);
  Operation* const first = unused_.load(std::memory_order_relaxed);
  unused_.store(nullptr, std::memory_order_relaxed);
  return first;
}

void Tracker::put_unused(Operation& first) {
  Operation* last = &first;
  while (last->next_ready != nullptr) last = last->next_ready;
  const std::lock_guard lock(lock_);
  last->next_ready = unused_.load(std::memory_order_relaxed);
  unused_.store(&first, std::memory_order_relaxed);
}

void Tracker::reserve_epochs(std::size_t count) {
  for (; free_epoch_count_ < count; ++free_epoch_count_) {
    auto* epoch = new Epoch;
    epoch->newer = std::exchange(free_epochs_, epoch);
  }
}

Epoch& Tracker::take_epoch() {
  Epoch& epoch = *free_epochs_;
  free_epochs_ = std::exchange(epoch.newer, nullptr);
  --free_epoch_count_;
  return epoch;
}

std::uint64_t Tracker::push(Operation& op, VarList reads, VarList mutates, ReadyList& ready) {
  const OperationScope* parent = OperationScope::of(engine_);
  const std::lock_guard lock(lock_);
  for (std::size_t i = 0; i < mutates.size(); ++i) {
    check_usable(mutates[i], engine_.id(), call_name(op));
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    check_usable(reads[i], engine_.id(), call_name(op));
  }

  reserve_epochs(reads.size() + mutates.size());  // the last step that may throw

  op.sequence = ++last_sequence_;
  op.generation = parent != nullptr ? parent->generation() : generations_.newest();
  generations_.add(op.generation);

  // Mutated variables first: one that is also read counts as mutated.
  for (std::size_t i = 0; i < mutates.size(); ++i) {
    VarState& var = *mutates[i];
    if (std::exchange(var.last_push, op.sequence) == op.sequence) continue;
    add_write(op, op.accesses()[op.access_count++], var);
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    VarState& var = *reads[i];
    if (std::exchange(var.last_push, op.sequence) == op.sequence) continue;
    add_read(op, op.accesses()[op.access_count++], var);
  }
  if (op.kind == Submission::Kind::kDelete) mutates[0]->deleted = true;
  if (op.not_granted == 0) ready.push(op);
  return op.sequence;
}

void Tracker::add_read(Operation& op, Access& access, VarState& var) {
  if (var.newest == nullptr) var.newest = &take_epoch();
  if (var.accesses++ == 0) retain(&var);
  Epoch& epoch = *var.newest;
  access = {.operation = &op, .var = &var, .epoch = &epoch};
  link_reader(epoch, access);
  ++epoch.unissued_readers;
  access.granted = write_suffices(epoch, op);
  if (!access.granted) ++op.not_granted;
}

void Tracker::add_write(Operation& op, Access& access, VarState& var) {
  if (var.accesses++ == 0) retain(&var);
  Epoch* older = var.newest;
  Epoch& epoch = take_epoch();
  access = {.operation = &op, .var = &var, .epoch = &epoch, .write = true};
  epoch.writer = &access;
  epoch.write_issued = epoch.write_done = false;
  var.newest = &epoch;
  if (older == nullptr) {
    access.granted = true;
    return;
  }
  if (older->write_done) epoch.inherited = older->poison;
  access.granted = write_suffices(*older, op) && reads_suffice(*older, op);
  if (!access.granted) ++op.not_granted;
  epoch.older = older;
  older->newer = &epoch;
  if (older->write_done && older->readers == nullptr) retire(*older);
}

void Tracker::grant(Access& access, ReadyList& ready) {
  access.granted = true;
  if (--access.operation->not_granted == 0) ready.push(*access.operation);
}

void Tracker::grant_readers(Epoch& epoch, ReadyList& ready) {
  for (Access* access = epoch.readers; access != nullptr; access = access->next) {
    if (!access->granted && write_suffices(epoch, *access->operation)) grant(*access, ready);
  }
}

void Tracker::grant_newer_writer(Epoch& epoch, ReadyList& ready) {
  if (epoch.newer == nullptr || epoch.newer->writer == nullptr) return;
  Access& writer = *epoch.newer->writer;
  if (writer.granted) return;
  if (write_suffices(epoch, *writer.operation) && reads_suffice(epoch, *writer.operation)) {
    grant(writer, ready);
  }
}

bool Tracker::may_end(Operation& op) {
  const std::lock_guard lock(lock_);
  op.ended_early = !op.issued;
  return op.issued;
}

bool Tracker::issued(Operation& op, ReadyList& ready) {
  const std::lock_guard lock(lock_);
  if (op.ended_early) return false;
  op.issued = true;
  for (std::size_t i = 0; i < op.access_count; ++i) {
    Access& access = op.accesses()[i];
    Epoch& epoch = *access.epoch;
    if (access.write) {
      epoch.write_issued = true;
      grant_readers(epoch, ready);
    } else {
      --epoch.unissued_readers;
    }
    grant_newer_writer(epoch, ready);
  }
  return true;
}

void Tracker::waits(const Operation& op, std::vector<device::Token>& tokens) {
  tokens.clear();
  const std::lock_guard lock(lock_);
  for (std::size_t i = 0; i < op.access_count; ++i) {
    const Access& access = op.accesses()[i];
    const Epoch* epoch = access.write ? access.epoch->older : access.epoch;
    if (epoch == nullptr) continue;
    if (epoch->writer != nullptr) merge_token(tokens, epoch->writer->operation->token);
    if (!access.write) continue;
    for (const Access* reader = epoch->readers; reader != nullptr; reader = reader->next) {
      merge_token(tokens, reader->operation->token);
    }
  }
}

FailurePtr Tracker::inherited(const Operation& op) {
  if (op.kind != Submission::Kind::kRun) return nullptr;
  FailurePtr first;
  for (std::size_t i = 0; i < op.access_count; ++i) {
    const Access& access = op.accesses()[i];
    if (!access.write) {
      first = earlier(first, access.epoch->poison);
    } else if (!op.overwrites) {
      first = earlier(first, access.epoch->inherited);
    }
  }
  return first;
}

void Tracker::done(Operation& op, const FailurePtr& poison, ReadyList& ready) {
  const std::lock_guard lock(lock_);
  for (std::size_t i = 0; i < op.access_count; ++i) {
    Access& access = op.accesses()[i];
    if (access.write) {
      end_write(access, poison, ready);
    } else {
      end_read(access, ready);
    }
  }
  if (generations_.remove(op.generation)) {
    for (Waiter** link = &all_waiters_; *link != nullptr;) {
      Waiter& waiter = **link;
      if (generations_.ended(waiter.generation)) {
        *link = waiter.next;
        waiter.wake(Waiter::State::kDone);
      } else {
        link = &waiter.next;
      }
    }
  }
  op.next_ready = unused_.load(std::memory_order_relaxed);
  unused_.store(&op, std::memory_order_relaxed);
}

void Tracker::end_read(Access& access, ReadyList& ready) {
  Epoch& epoch = *access.epoch;
  unlink_reader(epoch, access);
  if (!access.operation->issued) --epoch.unissued_readers;
  if (epoch.waiters != nullptr) wake_waiters(epoch);
  grant_newer_writer(epoch, ready);
  if (epoch.newer != nullptr && epoch.write_done && epoch.readers == nullptr) retire(epoch);
  release_access(*access.var);
}

void Tracker::end_write(Access& access, const FailurePtr& poison, ReadyList& ready) {
  Epoch& epoch = *access.epoch;
  VarState& var = *access.var;
  if (access.operation->kind != Submission::Kind::kClear) ++var.version;
  epoch.writer = nullptr;
  epoch.write_issued = epoch.write_done = true;
  epoch.poison = poison;
  epoch.inherited = nullptr;
  if (epoch.newer != nullptr) epoch.newer->inherited = poison;
  if (epoch.waiters != nullptr) wake_waiters(epoch);
  grant_readers(epoch, ready);
  grant_newer_writer(epoch, ready);
  if (epoch.newer != nullptr && epoch.readers == nullptr) retire(epoch);
  release_access(var);
}

void Tracker::retire(Epoch& epoch) {
  epoch.newer->older = nullptr;
  epoch = Epoch{};
  epoch.newer = std::exchange(free_epochs_, &epoch);
  ++free_epoch_count_;
}

void Tracker::release_access(VarState& var) {
  if (--var.accesses == 0) release(&var);
}

void Tracker::wake_waiters(Epoch& epoch) {
  for (Waiter** link = &epoch.waiters; *link != nullptr;) {
    Waiter& waiter = **link;
    if (is_over(epoch, waiter)) {
      *link = waiter.next;
      waiter.poison = epoch.poison;
      waiter.wake(Waiter::State::kDone);
    } else {
      link = &waiter.next;
    }
  }
  if (epoch.waiters == nullptr) std::erase(waited_epochs_, &epoch);
}

FailurePtr Tracker::wait_for_var(VarState* var, bool reads_too) {
  std::unique_lock lock(lock_);
  check_usable(var, engine_.id(), "Engine::wait_for_var");
  if (var->newest == nullptr) return nullptr;
  Epoch& epoch = *var->newest;
  Waiter waiter;
  waiter.reads_too = reads_too;
  waiter.last_sequence = last_sequence_;
  if (is_over(epoch, waiter)) return epoch.poison;
  check_not_stopped();
  if (epoch.waiters == nullptr) waited_epochs_.push_back(&epoch);
  waiter.next = std::exchange(epoch.waiters, &waiter);
  block(waiter, lock);
  return waiter.poison;
}

void Tracker::wait_for_all() {
  std::unique_lock lock(lock_);
  Waiter waiter;
  waiter.generation = generations_.close();
  if (generations_.ended(waiter.generation)) return;
  check_not_stopped();
  waiter.next = std::exchange(all_waiters_, &waiter);
  block(waiter, lock);
}

void Tracker::block(Waiter& waiter, std::unique_lock<base::SpinMutex>& lock) {
  lock.unlock();
  const Waiter::State state = waiter.wait();
  lock.lock();
  if (state == Waiter::State::kStopped) throw_stopped();
}

void Tracker::check_not_stopped() const {
  if (stopped_) throw_stopped();
}

void Tracker::stop_waiters() {
  const std::lock_guard lock(lock_);
  stopped_ = true;
  for (Epoch* epoch : waited_epochs_) {
    while (epoch->waiters != nullptr) {
      Waiter& waiter = *epoch->waiters;
      epoch->waiters = waiter.next;
      waiter.wake(Waiter::State::kStopped);
    }
  }
  waited_epochs_.clear();
  while (all_waiters_ != nullptr) {
    Waiter& waiter = *all_waiters_;
    all_waiters_ = waiter.next;
    waiter.wake(Waiter::State::kStopped);
  }
}

std::uint64_t Tracker::version(VarState* var) const {
  const std::lock_guard lock(lock_);
  check_usable(var, engine_.id(), "Engine::version");
  return var->version;
}

std::string Tracker::describe_writer(VarState* var) const {
  const std::lock_guard lock(lock_);
  check_usable(var, engine_.id(), "Engine::wait_for_var");
  const std::string who = "variable '" + var->name + "'";
  if (var->newest == nullptr || var->newest->writer == nullptr) {
    return who + ", which has no pending writer";
  }
  const Operation& writer = *var->newest->writer->operation;
  return who + ", to be written by '" + (writer.name.empty() ? "operation" : writer.name.str()) + "' #" +
         std::to_string(writer.sequence);
}

}  // namespace heddle::detail
