#pragma once

#include <cstdint>

namespace heddle::detail {

/// Counts the forks that led to this process; 0 in a process that did not see one.
using ProcessMark = std::uint32_t;

/// current_process(), once that was called. Written only in a child, by the one thread that it has.
extern constinit ProcessMark g_process_mark;

/// The mark of the calling process. The first call installs the handler that counts.
ProcessMark current_process();

/// True if `made_in` is the mark of an ancestor: engines made there have no threads here.
inline bool in_forked_child(ProcessMark made_in) { return g_process_mark != made_in; }

/// Throws ForkedChild, naming `call`.
[[noreturn]] void refuse_child(const char* call);

/// Throws ForkedChild, naming `call`, if in_forked_child(made_in).
inline void check_process(ProcessMark made_in, const char* call) {
  if (in_forked_child(made_in)) refuse_child(call);
}

}  // namespace heddle::detail
