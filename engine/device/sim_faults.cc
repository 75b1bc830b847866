#include "engine/device/sim_faults.h"

#include <string>
#include <utility>

#include "engine/engine_core.h"
#include "engine/operation_scope.h"

namespace heddle::device {
namespace {

using detail::OperationScope;

/// The mix of SplitMix64: the same numbers on every platform.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

std::string owner(int id) { return "[gpu(" + std::to_string(id) + ")] "; }

DeviceError loss_of(int id, const SimFaultSpec& spec) {
  return DeviceError(owner(id) + "the simulated GPU is lost from launch " +
                     std::to_string(spec.lost_after) +
                     " on, and what was in flight on it has failed");
}

/// True for each `period`th; 0: never.
bool is_due(std::uint64_t number, std::uint64_t period) {
  return period != 0 && number % period == 0;
}

/// The allocation of an operation that found no memory.
struct Refused {
  const SimFaults* by = nullptr;
  std::uint64_t engine = 0;
  std::uint64_t sequence = 0;
  std::uint64_t number = 0;
};

/// An operation's allocations are made by one thread, and no other operation that takes memory of
/// the GPU runs there before it has ended, or within it: one entry is enough.
thread_local Refused t_refused;

bool is_refused(const SimFaults* by, const OperationScope* scope) {
  return scope != nullptr && t_refused.by == by && t_refused.sequence == scope->sequence() &&
         t_refused.engine == scope->engine()->id();
}

}  // namespace

SimFaults::SimFaults(int id, const SimFaultSpec& spec, std::uint64_t seed)
    : id_(id), spec_(spec), seed_(seed), loss_(loss_of(id, spec)) {}

std::chrono::nanoseconds SimFaults::delay_of(std::uint64_t launch) const {
  const auto most = static_cast<std::uint64_t>(spec_.jitter.count());
  const std::uint64_t drawn = mix(mix(mix(seed_) + static_cast<std::uint64_t>(id_)) + launch);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(drawn % (most + 1)));
}

void SimFaults::run(const Work& work, std::uint64_t launch) {
  if (spec_.lost_after != 0 && launch >= spec_.lost_after) {
    is_lost_.store(true, std::memory_order_release);
  }
  work.run(work.argument);
  std::exception_ptr failure = failure_of(launch);
  if (failure != nullptr && work.failed != nullptr) work.failed(work.argument, std::move(failure));
}

std::exception_ptr SimFaults::failure_of(std::uint64_t launch) const noexcept try {
  if (is_lost()) return std::make_exception_ptr(loss_);
  if (!is_due(launch, spec_.fail_launch)) return nullptr;
  return std::make_exception_ptr(
      DeviceError(owner(id_) + "injected fault: launch " + std::to_string(launch) + " failed"));
} catch (...) {
  return std::current_exception();  // no memory for a text
}

void SimFaults::allocate(std::size_t bytes) {
  check_usable();
  const OperationScope* const scope = OperationScope::current();
  if (!is_refused(this, scope)) {
    const std::uint64_t number = allocations_.fetch_add(1) + 1;
    if (!is_due(number, spec_.fail_alloc)) return;
    t_refused = {.number = number};
    if (scope != nullptr) t_refused = {this, scope->engine()->id(), scope->sequence(), number};
  }
  throw OutOfMemory(owner(id_) + "out of memory: injected fault: allocation " +
                    std::to_string(t_refused.number) + ", of " + std::to_string(bytes) +
                    " bytes, finds none");
}

void SimFaults::check_usable() const {
  if (is_lost()) throw loss_;
}

}  // namespace heddle::device
