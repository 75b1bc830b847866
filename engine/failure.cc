#include "engine/failure.h"

#include <algorithm>
#include <utility>

namespace heddle::detail {

FailurePtr cancelled_by_group(std::uint64_t sequence, std::string_view name) {
  return std::make_shared<Failure>(
      Failure{sequence, std::nullopt, std::string(name.empty() ? "operation" : name)});
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

void ErrorLog::add(FailurePtr error) {
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kLimit) {
    kept_.push_back(std::move(error));
  } else {
    ++omitted_;
  }
}

void ErrorLog::mark_reported(const Failure& error) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&error](const FailurePtr& kept) {
    return kept.get() == &error;
  });
  if (found != kept_.end()) kept_.erase(found);
}

void ErrorLog::raise_all() {
  std::vector<FailurePtr> kept;
  std::size_t omitted = 0;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(kept_);
    omitted = std::exchange(omitted_, 0);
  }
  if (kept.empty() && omitted == 0) return;
  std::sort(kept.begin(), kept.end(),
            [](const FailurePtr& a, const FailurePtr& b) { return a->sequence < b->sequence; });
  std::vector<OpError> errors;
  errors.reserve(kept.size());
  for (const FailurePtr& failure : kept) errors.push_back(*failure->error);
  throw AggregateError(std::move(errors), omitted);
}

}  // namespace heddle::detail
