#pragma once

#include <functional>
#include <string>

#include "engine/base/sync.h"

namespace heddle::base {

/// Starts a thread that has `name` (15 characters at most are kept) and that no asynchronous
/// signal is delivered to. Throws std::system_error.
Thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace heddle::base
