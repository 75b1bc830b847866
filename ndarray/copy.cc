#include "ndarray/copy.h"

#include <cstddef>
#include <memory>
#include <span>

#include "heddle/engine.h"

#include "engine/device/backend.h"
#include "ndarray/array_access.h"
#include "ndarray/storage.h"

namespace heddle::detail {
namespace {

/// An array reduced to what a copy needs of it.
struct Place {
  explicit Place(const NDArray& array)
      : storage(ArrayAccess::storage(array)), begin(ArrayAccess::begin_byte(array)) {}
  std::byte* open(Touch touch, std::size_t bytes) const {
    return storage->open(touch, begin, bytes);
  }

  std::shared_ptr<Storage> storage;
  std::size_t begin;
};

bool overlap(const Place& a, const Place& b, std::size_t bytes) {
  return a.storage == b.storage && a.begin < b.begin + bytes && b.begin < a.begin + bytes;
}

}  // namespace

CopyRoute copy_route(Device from, Device to) {
  if (to.is_gpu()) return {to, from == to ? Lane::kCompute : Lane::kCopyIn};
  if (from.is_gpu()) return {from, Lane::kCopyOut};
  return {to, Lane::kCompute};
}

bool is_brief(Device from, Device to, std::size_t bytes) {
  constexpr std::size_t kLongest = std::size_t{4} << 20U;
  return bytes <= kLongest && device::backend_of(to).reads(from);
}

CopyCost copy_cost(Device from, Device to, std::size_t bytes) {
  const bool in_one_memory = from == to || (!from.is_gpu() && !to.is_gpu());
  return {.bytes = in_one_memory ? 2 * bytes : bytes, .from = from, .to = to};
}

void copy(const NDArray& from, const NDArray& to, int priority, std::optional<Lane> lane) {
  const std::size_t bytes = static_cast<std::size_t>(to.size()) * dtype_size(to.dtype());
  const Place source(from);
  const Place target(to);
  if (overlap(source, target, bytes)) {
    if (source.begin == target.begin) return;
    const NDArray aside(from.shape(), from.device(), from.dtype());
    copy(from, aside, priority, lane);
    copy(aside, to, priority, lane);
    return;
  }
  const CopyRoute route = copy_route(from.device(), to.device());
  const CopyCost cost = copy_cost(from.device(), to.device(), bytes);
  Engine::get().push(
      [source, target, bytes](const RunContext& context) {
        device::backend_of(context.device)
            .copy(target.open(Touch::kWrite, bytes), target.storage->device(),
                  source.open(Touch::kRead, bytes), source.storage->device(), bytes);
      },
      {from.var()}, {to.var()},
      {.device = route.device,
       .lane = lane.value_or(route.lane),
       .priority = priority,
       .name = "copy",
       .overwrites = ArrayAccess::covers_block(to),
       .brief = is_brief(from.device(), to.device(), bytes),
       .copies = std::span(&cost, 1)});
}

}  // namespace heddle::detail
