#pragma once

#include <cstddef>
#include <functional>

namespace heddle::device {

/// What every floating point type takes for a NaN, in each of its bytes.
inline constexpr int kNaNs = 0xFF;

/// Addresses without memory, to which it is given page by page. All functions may be called from
/// any thread, and throw nothing.
struct PagedMemory {
  /// Bytes of the smallest and of a good page, powers of two; 0: there is no such memory.
  std::size_t least_page = 0;
  std::size_t good_page = 0;
  /// A range that begins at a multiple of good_page, or null.
  std::function<void*(std::size_t bytes)> reserve = {};
  /// All of a range, none of which has memory.
  std::function<void(void* range, std::size_t bytes)> abandon = {};
  /// False if there is no memory. What map() gave may be taken back in parts.
  std::function<bool(void* pages, std::size_t bytes)> map = {};
  std::function<void(void* pages, std::size_t bytes)> unmap = {};
};

/// Where a pool gets its memory from. All functions may be called from any thread, and throw
/// nothing.
struct RawMemory {
  /// 64-byte aligned, or null if there is none.
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void* block, std::size_t bytes)> release;
  bool is_host = true;  ///< the process may touch it
  /// Sets every byte of a block that is handed out to kNaNs, at the latest when its operation
  /// begins to use it.
  std::function<void(void* block, std::size_t bytes)> fill = {};
  /// Used instead, if there is any.
  PagedMemory pages = {};
};

/// The process's own. What is large enough lies on huge pages if the system lends any.
RawMemory host_memory();

}  // namespace heddle::device
