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
CUstream_st* cuda_stream(const RunContext& context);

}  // namespace heddle
