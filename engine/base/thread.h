#pragma once

#include <functional>
#include <string>
#include <thread>

namespace heddle::base {

/// Starts a thread that has `name` (15 characters at most are kept) and that no asynchronous
/// signal is delivered to. Throws std::system_error.
std::thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace heddle::base
