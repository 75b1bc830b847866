#pragma once

#include <cstdint>

namespace heddle::detail {

/// Counts the forks that led to this process; 0 in a process that did not see one.
using ProcessMark = std::uint32_t;

/// The mark of the calling process. The first call installs the handler that counts.
ProcessMark current_process();

/// True if `made_in` is the mark of an ancestor: engines made there have no threads here.
bool in_forked_child(ProcessMark made_in);

/// Throws ForkedChild, naming `call`, if in_forked_child(made_in).
void check_process(ProcessMark made_in, const char* call);

}  // namespace heddle::detail
