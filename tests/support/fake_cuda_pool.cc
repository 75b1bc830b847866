#include <cstddef>

#include <cuda_runtime_api.h>

// Memory in the order of a stream, of which benchmarks/gpu asks fake_cuda_runtime.cc, too: as that
// does, it takes and gives back at once. Nothing that is enqueued may use it.

extern "C" {

cudaError_t cudaMallocAsync(void** block, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(block, bytes);
}
cudaError_t cudaFreeAsync(void* block, cudaStream_t) { return cudaFree(block); }

}  // extern "C"
