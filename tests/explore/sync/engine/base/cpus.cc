#include "engine/base/cpus.h"

#include "tests/explore/scheduler.h"

namespace heddle::base {

/// The same everywhere, so that a seed means the same schedule on every machine.
int usable_cpus(const std::filesystem::path& /*root*/) { return 2; }

/// Threads are moved from time to time.
int current_cpu() noexcept {
  const explore::Scheduler* const scheduler = explore::Scheduler::current();
  return scheduler == nullptr ? 0 : static_cast<int>(scheduler->now() / 64 % 2);
}

KeptOff::KeptOff(int /*cpu*/) noexcept {}

KeptOff::~KeptOff() = default;

void leave_cpu() noexcept {}

}  // namespace heddle::base
