#pragma once

#include <cstddef>

// What the fake runtime and the fake driver count together.

namespace heddle::support {

/// False, and nothing taken, if the fake GPUs have no such memory left.
bool take_fake_cuda_memory(std::size_t bytes);
void give_back_fake_cuda_memory(std::size_t bytes);

/// After break_fake_cuda().
bool is_fake_cuda_broken();

}  // namespace heddle::support
