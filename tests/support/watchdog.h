#pragma once

#include <string>

namespace heddle::support {

/// Ends the process with a message unless start(), progress() or stop() is called within 60 s, so
/// that a hang is a failure with a name. Thread safety: every function, from any thread.
namespace watchdog {

void start(const std::string& what);
/// Grants another 60 s.
void progress();
void stop();

}  // namespace watchdog

}  // namespace heddle::support
