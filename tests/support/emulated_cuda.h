#pragma once

#include <cstddef>
#include <cstring>
#include <functional>

#include <cuda_runtime_api.h>

#include "tests/support/fake_cuda_runtime.h"

// The threads of a grid, on one thread of the host: they take turns, and change at barriers.

namespace heddle::support {

struct EmulatedThread {
  uint3 thread;
  uint3 block;
  dim3 block_size;
  dim3 grid_size;
};

/// The one that runs at the moment on the calling thread.
const EmulatedThread& emulated_thread();

/// Runs `body` once for every thread of the grid, block by block. One grid at a time.
void run_grid(unsigned blocks, dim3 threads, const std::function<void()>& body);

/// __syncthreads() and __syncwarp() of all threads that have not ended. A barrier that is never
/// passed ends the program.
void wait_for_block();
void wait_for_warp();

/// Eight bytes that the thread with this lane shows to its warp.
unsigned char* shown_in_warp(int lane);

/// The value that the thread with that lane has. Called by the whole warp.
template <class T>
T exchange_in_warp(T value, int lane) {
  static_assert(sizeof(T) <= 8);
  std::memcpy(shown_in_warp(static_cast<int>(emulated_thread().thread.x % 32U)), &value,
              sizeof(value));
  wait_for_warp();
  std::memcpy(&value, shown_in_warp(lane), sizeof(value));
  wait_for_warp();
  return value;
}

}  // namespace heddle::support
