#pragma once

#include "heddle/engine.h"

struct CUstream_st;  // CUDA's; a cudaStream_t points to one

namespace heddle {

/// The stream of an operation of a CUDA device, for kernels and library calls of your own. Called
/// by the operation's callable, which enqueues on it and returns: what waits for the operation
/// waits for what it enqueued, too. The GPU is the calling thread's current one meanwhile. Throws
/// Error anywhere else, in operations of other devices, and on an engine of EngineKind::kNaive.
///
/// What an operation is the first to touch of an array may have been another array's memory until
/// just before, in the order of this stream: touch it in that order only, as by what is enqueued
/// here, unless the operation is asynchronous.
///
/// In runs of a recording (see Recording) the stream of an operation pushed as `capturable` may be
/// one that captures: what the callable enqueues is then given to the GPU later, as a part of a
/// CUDA graph. The callable is called in each run all the same, and must ask for the stream each
/// time. What it may enqueue are kernels, memory sets, copies from and to memory of devices and
/// page-locked memory, and calls of libraries that may be captured. It must not wait: not for the
/// stream or an event, nor for another thread, as others may wait for what it is a part of. Before
/// it branches to streams of its own, which it joins again, it must have the addresses of its
/// arrays. And nobody may synchronize the whole device (cudaDeviceSynchronize) while recordings
/// run. What may not be captured fails the operations of that graph, naming the culprit, and later
/// runs of the recording go without graphs.
CUstream_st* cuda_stream(const RunContext& context);

}  // namespace heddle
