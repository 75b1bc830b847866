// A kernel with one bug, in an operation: each of compute-sanitizer's tools has one that it must
// find. The program itself succeeds if the operation has ended, in whatever way.
//
//   heddle_planted_gpu_bugs memcheck|racecheck|initcheck|synccheck

#include <cstdio>
#include <cstring>
#include <string>

#include <cuda_runtime_api.h>

#include "heddle/cuda.h"
#include "heddle/engine.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr unsigned kCells = 64;

/// With a thread more than there are cells.
__global__ void write_out_of_bounds(unsigned* cells) { cells[threadIdx.x] = threadIdx.x; }

/// Nothing keeps a warp from reading before the other one has written.
__global__ void race_in_shared_memory(unsigned* cells) {
  __shared__ unsigned shared[kCells];
  shared[threadIdx.x] = threadIdx.x;
  cells[threadIdx.x] = shared[kCells - 1 - threadIdx.x];
}

/// Nobody has written the cells.
__global__ void read_uninitialized(unsigned* cells) { cells[threadIdx.x] += 1; }

/// Half of the threads never come to the barrier.
__global__ void diverge_at_barrier(unsigned* cells) {
  if (threadIdx.x % 2 == 0) __syncthreads();
  cells[threadIdx.x] = threadIdx.x;
}

struct Bug {
  const char* tool;
  void (*kernel)(unsigned* cells);
  unsigned threads;
};

constexpr Bug kBugs[] = {
    {"memcheck", &write_out_of_bounds, kCells + 1},
    {"racecheck", &race_in_shared_memory, kCells},
    {"initcheck", &read_uninitialized, kCells},
    {"synccheck", &diverge_at_barrier, kCells},
};

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess)
    throw DeviceError(std::string(call) + ": " + cudaGetErrorString(result));
}

void run(const Bug& bug) {
  // Not from the pool, whose blocks lie side by side and are used again.
  unsigned* cells = nullptr;
  check(cudaMalloc(&cells, kCells * sizeof(unsigned)), "cudaMalloc");
  Engine engine;
  const Var x = engine.new_variable("cells");
  engine.push(
      [&bug, cells](const RunContext& context) {
        bug.kernel<<<1, bug.threads, 0, cuda_stream(context)>>>(cells);
        check(cudaGetLastError(), bug.tool);
      },
      {}, {x}, {.device = Device::gpu(0), .name = bug.tool});
  try {
    engine.wait_for_var(x);
    std::puts("the operation has succeeded");
  } catch (const OpError& error) {
    std::printf("the operation has failed: %s\n", error.what());
  }
}

int main_of(int argc, char** argv) {
  for (const Bug& bug : kBugs) {
    if (argc != 2 || std::strcmp(argv[1], bug.tool) != 0) continue;
    if (num_physical_gpus() == 0) {
      std::puts("skipped: there is no CUDA GPU");
      return 77;
    }
    configure({.gpus = "cuda:0"});
    run(bug);
    return 0;
  }
  std::fputs("usage: heddle_planted_gpu_bugs memcheck|racecheck|initcheck|synccheck\n", stderr);
  return 2;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) { return heddle::main_of(argc, argv); }
