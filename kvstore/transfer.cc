#include "kvstore/transfer.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "heddle/engine.h"

#include "engine/device/backend.h"
#include "ndarray/array_access.h"
#include "ndarray/copy.h"
#include "ndarray/storage.h"

namespace heddle::kvstore {

std::vector<Var> vars_of(std::span<const NDArray> arrays) {
  std::vector<Var> vars;
  vars.reserve(arrays.size());
  for (const NDArray& array : arrays) vars.push_back(array.var());
  return vars;
}

std::size_t bytes_of(const NDArray& array) {
  return static_cast<std::size_t>(array.size()) * dtype_size(array.dtype());
}

bool are_brief(std::span<const NDArray> inputs, const NDArray& to) {
  const std::size_t bytes = bytes_of(to);
  return std::all_of(inputs.begin(), inputs.end(), [&](const NDArray& input) {
    return detail::is_brief(input.device(), to.device(), bytes);
  });
}

void push_transfer(const NDArray& from, const NDArray& to, int priority) {
  // Copies within the CPU's memory are work for all of its workers.
  const bool on_cpu = !from.device().is_gpu() && !to.device().is_gpu();
  detail::copy(from, to, priority, on_cpu ? std::nullopt : std::optional(Lane::kComm));
}

void push_join(std::span<const NDArray> parts, const NDArray& to, int priority) {
  const Device device = to.device().is_gpu() ? to.device() : parts.front().device();
  std::vector<CopyCost> copies;
  copies.reserve(parts.size());
  for (const NDArray& part : parts) {
    copies.push_back(detail::copy_cost(part.device(), to.device(), bytes_of(part)));
  }
  Engine::get().push(
      [from = std::vector<NDArray>(parts.begin(), parts.end()), to] {
        device::Backend& backend = device::backend_of(to.device());
        auto* next = static_cast<std::byte*>(ArrayAccess::address(to));
        for (const NDArray& part : from) {
          const std::size_t bytes = bytes_of(part);
          backend.copy(next, to.device(), ArrayAccess::const_address(part), part.device(), bytes);
          next += bytes;
        }
      },
      vars_of(parts), {to.var()},
      {.device = device,
       .lane = device.is_gpu() ? Lane::kComm : Lane::kCompute,
       .priority = priority,
       .name = "kvstore.join",
       .overwrites = ArrayAccess::covers_block(to),
       .brief = are_brief(parts, to),
       .copies = copies});
}

void push_exchange(std::span<const NDArray> parts, std::shared_ptr<detail::Storage> block,
                   const NDArray& to, int priority) {
  Engine::get().push([block = std::move(block),
                      own = ArrayAccess::storage(to)] { detail::Storage::exchange(*block, *own); },
                     vars_of(parts), {to.var()},
                     {.device = to.device(),
                      .lane = Lane::kComm,
                      .priority = priority,
                      .name = "kvstore.exchange",
                      .overwrites = true,
                      .brief = true});
}

}  // namespace heddle::kvstore
