#pragma once

#include <cstddef>
#include <cstdint>

/// What the process takes from the heap. bench_engine's malloc and its like, which the contenders'
/// libraries call as well, are wrappers of the C library's that count.
namespace bench::engine {

/// Counts from construction to destruction, the calls of all threads. One at a time.
class AllocationCount {
 public:
  AllocationCount();
  ~AllocationCount();
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;

  std::uint64_t calls() const;
};

/// Bytes that are allocated and not freed.
std::size_t heap_bytes();

/// Bytes of the process that are in memory, whoever asked for them.
std::size_t resident_bytes();

/// Has the C library merge the small blocks that were freed: it puts that off until somebody wants
/// a larger block.
void merge_free_blocks();

/// Gives memory that was freed back to the system, as far as that is possible.
void trim_heap();

}  // namespace bench::engine
