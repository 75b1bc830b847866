#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "io/reader.h"

namespace heddle::io {

/// The reader over `files`: the one that some source still uses, or the result of `open`. Files
/// are the same if their canonical path, size and time of change are.
///
/// Thread safety: may be called from any thread; one call opens at a time. Throws Error, naming
/// `reader`, if a file is missing, and what `open` throws.
std::shared_ptr<const Reader> shared_reader(
    const std::string& reader, std::span<const std::string> files,
    const std::function<std::shared_ptr<const Reader>()>& open);

}  // namespace heddle::io
