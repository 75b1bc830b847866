#pragma once

#include <cstddef>

namespace heddle::support {

/// Bytes that the fake driver has mapped at the moment.
std::size_t fake_cuda_mapped_bytes();

/// From now on there is no virtual memory management to be found.
void hide_fake_cuda_driver();

/// How many pages of other GPUs this one was let access, one after the other.
std::size_t fake_cuda_peer_pages(int gpu);

}  // namespace heddle::support
