#include "engine/failure.h"

#include <algorithm>
#include <new>
#include <utility>

namespace heddle::detail {
namespace {

/// What is left to say where there is no memory.
struct LastResorts {
  FailurePtr failed = std::make_shared<Failure>(
      Failure{0, OpError("operation", 0, Device(), std::make_exception_ptr(std::bad_alloc()))});
  FailurePtr cancelled_by_group =
      std::make_shared<Failure>(Failure{0, std::nullopt, std::string("operation")});
  FailurePtr cancelled_by_shutdown = std::make_shared<Failure>(Failure{0, std::nullopt});
};

/// Never destroyed: operations may end until the process does.
const LastResorts& last_resorts() {
  static const auto* const made = new LastResorts;
  return *made;
}

/// What `make` gives, or `last_resort`.
template <class Make>
FailurePtr made_or(const FailurePtr& last_resort, Make&& make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return last_resort;
  }
}

}  // namespace

FailurePtr failed(std::uint64_t sequence, std::string_view name, Device device,
                  std::exception_ptr error) noexcept {
  return made_or(last_resorts().failed, [&] {
    return std::make_shared<Failure>(
        Failure{sequence, OpError(std::string(name), sequence, device, std::move(error))});
  });
}

FailurePtr cancelled_by_group(std::uint64_t sequence, std::string_view name) noexcept {
  return made_or(last_resorts().cancelled_by_group, [&] {
    return std::make_shared<Failure>(
        Failure{sequence, std::nullopt, std::string(name.empty() ? "operation" : name)});
  });
}

FailurePtr cancelled_by_shutdown(std::uint64_t sequence) noexcept {
  return made_or(last_resorts().cancelled_by_shutdown, [&] {
    return std::make_shared<Failure>(Failure{sequence, std::nullopt});
  });
}

std::exception_ptr error_or_no_memory(const char* text) noexcept {
  try {
    return std::make_exception_ptr(Error(text));
  } catch (...) {
    return std::current_exception();
  }
}

void raise(const Failure& failure) {
  if (failure.error) throw OpError(*failure.error);
  if (failure.group_member) {
    throw Cancelled("operation '" + *failure.group_member + "' #" +
                    std::to_string(failure.sequence) +
                    " was cancelled by its CancelSource before it started");
  }
  throw EngineStopped("operation #" + std::to_string(failure.sequence) +
                      " was cancelled: the engine was shut down before it started");
}

const FailurePtr& earlier(const FailurePtr& a, const FailurePtr& b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  return b->sequence < a->sequence ? b : a;
}

ErrorLog::ErrorLog() { static_cast<void>(last_resorts()); }

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

}  // namespace heddle::detail
