#include "engine/failure.h"

#include <algorithm>
#include <new>
#include <utility>

namespace heddle::detail {
namespace {

struct CountedFailure : Failure {
  explicit CountedFailure(Failure failure) : Failure(std::move(failure)) {}
  mutable base::Atomic<std::uint32_t> references{1};  ///< the last to go sees what others have done
};

/// What is left to say where there is no memory.
struct LastResorts {
  Failure failed{
      .sequence = 0,
      .error = OpError("operation", 0, Device(), std::make_exception_ptr(std::bad_alloc())),
      .is_last_resort = true};
  Failure cancelled_by_group{
      .sequence = 0, .error = std::nullopt, .by_group = true, .is_last_resort = true};
  Failure cancelled_by_shutdown{.sequence = 0, .error = std::nullopt, .is_last_resort = true};
};

/// Never destroyed: operations may end until the process does.
const LastResorts& last_resorts() {
  static const auto* const made = new LastResorts;
  return *made;
}

/// What `make` gives, or `last_resort`.
template <class Make>
FailurePtr made_or(const Failure& last_resort, Make&& make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return FailurePtr::to_last_resort(last_resort);
  }
}

}  // namespace

FailurePtr FailurePtr::make(Failure failure) {
  FailurePtr made;
  made.failure_ = new CountedFailure(std::move(failure));
  return made;
}

FailurePtr FailurePtr::to_last_resort(const Failure& failure) noexcept {
  FailurePtr pointer;
  pointer.failure_ = &failure;
  return pointer;
}

void FailurePtr::retain() const noexcept {
  if (failure_ == nullptr || failure_->is_last_resort) return;
  static_cast<const CountedFailure*>(failure_)->references.fetch_add(1, std::memory_order_relaxed);
}

void FailurePtr::release() const noexcept {
  if (failure_->is_last_resort) return;
  const auto* const counted = static_cast<const CountedFailure*>(failure_);
  if (counted->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete counted;
}

bool FailurePtr::reset_unless_last() noexcept {
  auto& references = static_cast<const CountedFailure*>(failure_)->references;
  std::uint32_t count = references.load(std::memory_order_acquire);
  while (count != 1) {
    if (references.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
      failure_ = nullptr;
      return true;
    }
  }
  return false;
}

void make_last_resorts() { static_cast<void>(last_resorts()); }

FailurePtr failed(std::uint64_t sequence, std::string_view name, Device device,
                  std::exception_ptr error) noexcept {
  return made_or(last_resorts().failed, [&] {
    return FailurePtr::make(
        {.sequence = sequence,
         .error = OpError(std::string(name), sequence, device, std::move(error))});
  });
}

FailurePtr cancelled_by_group(std::uint64_t sequence, std::string_view name) noexcept {
  return made_or(last_resorts().cancelled_by_group, [&] {
    return FailurePtr::make(
        {.sequence = sequence, .error = std::nullopt, .name = std::string(name), .by_group = true});
  });
}

FailurePtr cancelled_by_shutdown(std::uint64_t sequence, std::string_view name) noexcept {
  return made_or(last_resorts().cancelled_by_shutdown, [&] {
    return FailurePtr::make(
        {.sequence = sequence, .error = std::nullopt, .name = std::string(name)});
  });
}

std::exception_ptr error_or_no_memory(const char* text) noexcept {
  try {
    return std::make_exception_ptr(Error(text));
  } catch (...) {
    return std::current_exception();
  }
}

void raise(const Failure& failure, std::string_view call) {
  if (failure.error) throw OpError(*failure.error);
  const std::string name = failure.name.empty() ? "" : "'" + failure.name + "' ";
  const std::string who = "[" + std::string(call) + "] operation " + name + "#" +
                          std::to_string(failure.sequence) + " was cancelled";
  if (failure.by_group) throw Cancelled(who + " by its CancelSource before it started");
  throw EngineStopped(who + ": the engine was shut down before it started");
}

const FailurePtr& earlier(const FailurePtr& a, const FailurePtr& b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  return b->sequence < a->sequence ? b : a;
}

void ErrorLog::add(FailurePtr error) noexcept {
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kLimit) {
    try {
      kept_.push_back(std::move(error));
      return;
    } catch (const std::bad_alloc&) {  // only counted, as what is too much
    }
  }
  ++omitted_;
}

void ErrorLog::mark_reported(const Failure& error) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&error](const FailurePtr& kept) {
    return kept.get() == &error;
  });
  if (found != kept_.end()) kept_.erase(found);
}

void ErrorLog::raise_all() {
  std::vector<FailurePtr> told;  // outlives the lock: exceptions may do anything in the end
  const std::lock_guard lock(mutex_);
  if (kept_.empty() && omitted_ == 0) return;
  std::sort(kept_.begin(), kept_.end(),
            [](const FailurePtr& a, const FailurePtr& b) { return a->sequence < b->sequence; });
  std::vector<OpError> errors;
  errors.reserve(kept_.size());
  for (const FailurePtr& failure : kept_) errors.push_back(*failure->error);
  const AggregateError error(std::move(errors), omitted_);  // from here on nothing needs memory
  told.swap(kept_);
  omitted_ = 0;
  throw AggregateError(error);
}

bool ErrorLog::forget() noexcept {
  std::vector<FailurePtr> forgotten;  // outlives the lock
  const std::lock_guard lock(mutex_);
  forgotten.swap(kept_);
  omitted_ = 0;
  return !forgotten.empty();
}

}  // namespace heddle::detail
