#pragma once

#include <cstddef>

namespace heddle::support {

/// From now on every call fails, as after a kernel that wrote where it must not.
void break_fake_cuda();

/// From now on no more memory than this.
void limit_fake_cuda_memory(std::size_t bytes);

}  // namespace heddle::support
