#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

struct CUstream_st;

namespace heddle::support {

/// From now on every call fails, as after a kernel that wrote where it must not.
void break_fake_cuda();

/// Does `work` in the order of the stream; at once on cudaStreamPerThread.
void enqueue_on_fake_cuda(CUstream_st* stream, std::function<void()> work);

/// How often a thread was asked to wait for a stream, an event or a GPU.
std::uint64_t fake_cuda_synchronizations();

/// Is called before each question whether an event is reached, by the thread that asks.
void watch_fake_cuda_questions(std::function<void()> watcher);

/// From now on no more memory than this.
void limit_fake_cuda_memory(std::size_t bytes);

/// What each GPU that is not in use yet says that it has of memory.
void shrink_fake_cuda(std::size_t bytes);

}  // namespace heddle::support
