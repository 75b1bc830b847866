#pragma once

#include <cstddef>
#include <memory>

#include "engine/device/backend.h"
#include "engine/device/memory_pool.h"

namespace heddle::device {

/// The host: memory from a caching pool; operations run on worker threads, so it has no streams.
std::unique_ptr<Backend> make_cpu_backend();
/// The same with memory from `pool`, which outlives it.
std::unique_ptr<Backend> make_cpu_backend(MemoryPool& pool);

/// Bytes of memory that the machine has.
std::size_t physical_memory();

}  // namespace heddle::device
