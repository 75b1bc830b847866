#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "heddle/device.h"
#include "heddle/ndarray.h"

namespace heddle::detail {
class Storage;
}

// What moves elements between the arrays of a store, on the comm lane of a device, so that a
// store's traffic is told apart from other copies. Nothing waits.

namespace heddle::kvstore {

/// The variables of the arrays, in order.
std::vector<Var> vars_of(std::span<const NDArray> arrays);

/// Of its elements.
std::size_t bytes_of(const NDArray& array);

/// True if work on `to` that reads the inputs is brief: see PushOptions.
bool are_brief(std::span<const NDArray> inputs, const NDArray& to);

/// Pushes a copy of `from` to `to`, which has as many elements of the same type.
void push_transfer(const NDArray& from, const NDArray& to, int priority);

/// Pushes a copy of all `parts`, one behind the other, to `to`, which has as many elements.
void push_join(std::span<const NDArray> parts, const NDArray& to, int priority);

/// Pushes what gives `to`, all of its block, the elements of all `parts`: `block`, to which they
/// were written, becomes its block, and the other way round. Whatever touches `block` must be
/// ordered by the variables of the parts.
void push_exchange(std::span<const NDArray> parts, std::shared_ptr<detail::Storage> block,
                   const NDArray& to, int priority);

}  // namespace heddle::kvstore
