#pragma once

#include <cstddef>
#include <memory>

#include "engine/device/backend.h"

namespace heddle::device {

/// The host: memory from a caching pool; operations run on worker threads, so it has no streams.
std::unique_ptr<Backend> make_cpu_backend();

/// Bytes of memory that the machine has.
std::size_t physical_memory();

}  // namespace heddle::device
