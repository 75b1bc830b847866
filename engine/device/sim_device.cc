#include "engine/device/sim_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/asan.h"
#include "engine/device/cpu.h"
#include "engine/device/sim_stream.h"

namespace heddle::device {
namespace {

std::string describe_gpu(int id, const SimSpec& spec) {
  const std::string name = "simulated GPU " + std::to_string(id);
  return spec.preset.empty() ? name : name + " of " + spec.preset;
}

/// What is cached is the host's memory after all.
PoolLimits pool_limits(const SimSpec& spec, bool fills) {
  return {spec.memory, std::min(spec.memory, physical_memory() / 8), fills};
}

std::unique_ptr<SimFaults> make_faults(int id, const SimSpec& spec, std::uint64_t seed) {
  if (spec.faults == SimFaultSpec{}) return nullptr;
  return std::make_unique<SimFaults>(id, spec.faults, seed);
}

}  // namespace

SimDevice::SimDevice(int id, const SimSpec& spec, std::shared_ptr<SimLinks> links,
                     std::uint64_t seed, bool fills_memory)
    : id_(id),
      description_(describe_gpu(id, spec)),
      links_(std::move(links)),
      faults_(make_faults(id, spec, seed)),
      pool_("gpu(" + std::to_string(id) + ")", host_memory(), pool_limits(spec, fills_memory)) {}

void* SimDevice::allocate(std::size_t bytes) {
  if (faults_ != nullptr) faults_->check_usable();
  void* const block = pool_.allocate(bytes);
  try {
    // Only what the pool would have given counts: to try again is no new allocation.
    if (faults_ != nullptr) faults_->allocate(bytes);
  } catch (...) {
    pool_.deallocate(block, bytes);
    throw;
  }
  base::poison(block, bytes);
  return block;
}

void SimDevice::deallocate(void* block, std::size_t bytes) noexcept {
  pool_.deallocate(block, bytes);
}

bool SimDevice::reads(Device other) const {
  const SimLink* const link = links_->between(other, Device::gpu(id_));
  return link == nullptr || !link->limited();
}

void SimDevice::open(void* block, std::size_t bytes) {
  if (faults_ != nullptr) faults_->check_usable();
  if constexpr (base::kAddressSanitizer) {
    const std::lock_guard lock(open_mutex_);
    if (open_counts_[block]++ == 0) base::unpoison(block, bytes);
  }
}

void SimDevice::close(void* block, std::size_t bytes) noexcept {
  if constexpr (base::kAddressSanitizer) {
    const std::lock_guard lock(open_mutex_);
    const auto found = open_counts_.find(block);
    if (--found->second > 0) return;
    open_counts_.erase(found);
    base::poison(block, bytes);
  }
}

void SimDevice::copy(void* to, Device to_device, const void* from, Device from_device,
                     std::size_t bytes) {
  if (faults_ != nullptr) faults_->check_usable();
  SimLink* link = links_->between(from_device, to_device);
  const bool timed = link != nullptr && link->limited();
  const Clock::time_point end = timed ? link->occupy(model_now(), bytes) : Clock::time_point();
  if (bytes > 0) std::memcpy(to, from, bytes);
  if (timed) wait_until(end);
}

std::unique_ptr<Stream> SimDevice::make_stream(Lane lane, Executor& executor) {
  return std::make_unique<SimStream>(lane, executor, faults_.get());
}

}  // namespace heddle::device
