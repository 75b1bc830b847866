#include "kvstore/spares.h"

#include <algorithm>

#include "heddle/engine.h"
#include "heddle/error.h"

#include "engine/device/backend.h"
#include "engine/recorder.h"
#include "kvstore/transfer.h"
#include "ndarray/array_access.h"
#include "ndarray/storage.h"

namespace heddle::kvstore {

namespace {

/// To copy fewer takes no longer than an operation.
constexpr std::size_t kSmallest = std::size_t{32} << 10U;

/// There are no spare blocks on a device that is so full that it has no room for so many of them.
constexpr std::size_t kRoom = 4;

/// True if updates of the parts may write to a block of the device of `out`, and `out` may have it.
bool can_exchange(std::span<const NDArray> parts, const NDArray& out) {
  const detail::Storage& block = *ArrayAccess::storage(out);
  const device::Backend& backend = device::backend_of(out.device());
  if (block.host_accessible() || !backend.runs_cpu_kernels()) return false;
  if (!ArrayAccess::covers_block(out) || block.bytes() < kSmallest) return false;
  return std::all_of(parts.begin(), parts.end(), [&](const NDArray& part) {
    const device::Backend& writer = device::backend_of(part.device());
    return part.device().is_gpu() && writer.runs_cpu_kernels() && writer.reads(out.device()) &&
           backend.reads(part.device());
  });
}

}  // namespace

bool is_recorded() { return detail::Recorder::of(Engine::get()) != nullptr; }

std::vector<std::shared_ptr<detail::Storage>> Spares::blocks() {
  std::erase_if(spares_, [](const Spare& spare) { return spare.filled; });
  std::vector<std::shared_ptr<detail::Storage>> blocks;
  blocks.reserve(spares_.size());
  for (const Spare& spare : spares_) blocks.push_back(spare.block);
  return blocks;
}

void Spares::filled() {
  for (Spare& spare : spares_) spare.filled = true;
}

bool Spares::pull(std::span<const NDArray> parts, const NDArray& out, int priority) {
  if (given_up_ || is_recorded() || !can_exchange(parts, out)) return false;
  const auto spare = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const Spare& s) { return s.device == out.device(); });
  const std::shared_ptr<detail::Storage>& block = ArrayAccess::storage(out);
  if (spare == spares_.end()) {
    add(out.device(), block->bytes());
    return false;
  }
  if (!spare->filled) return false;
  spare->filled = false;
  push_exchange(parts, spare->block, out, priority);
  return true;
}

/// The memory is taken here: the update that will write it must not fail for want of a spare block,
/// nor should others.
void Spares::add(Device device, std::size_t bytes) {
  if (device::backend_of(device).room() / kRoom < bytes) return;
  const auto block = std::make_shared<detail::Storage>(device, bytes);
  try {
    block->reserve();
    spares_.push_back({device, block});
  } catch (const OutOfMemory&) {
    give_up();
  }
}

void Spares::give_up() {
  given_up_ = true;
  drop();
}

}  // namespace heddle::kvstore
