#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::detail {

struct Operation;
class LaneQueue;

/// An operation that waits for memory.
struct MemoryWait {
  std::vector<Operation*> operations;  ///< it, and those that its thread is in, too
  std::uint64_t sequence = 0;
  const LaneQueue* queue = nullptr;
  std::uint64_t horizon = 0;  ///< the last push when it began to wait
};

/// Whether others may end, and so give back memory, before an operation that waits for some.
struct MemoryRelief {
  bool is_sure = false;      ///< a worker runs one that was pushed before
  bool is_on_gpu = false;    ///< a GPU is at one that was pushed before
  bool is_possible = false;  ///< some could run, if a thread takes them up
  std::size_t pending = 0;   ///< how many were pushed before the wait began
};

}  // namespace heddle::detail
