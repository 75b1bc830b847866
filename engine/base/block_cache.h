#pragma once

#include <cstddef>
#include <new>

namespace heddle::base {

// Memory for small objects that one thread makes and others destroy, as a push does all the time.
// A general allocator takes locks for what comes back from another thread; here each thread keeps
// some blocks of each size, and they change hands 32 at a time. Blocks are kept for ever, so memory
// is bounded by the most that was used at once times the threads that allocate. Under
// AddressSanitizer and ThreadSanitizer every block comes from the general allocator, where these
// can watch it.

/// Aligned to 64 bytes. Throws std::bad_alloc.
void* allocate_block(std::size_t bytes);
/// `bytes` is what allocate_block() was asked for.
void deallocate_block(void* block, std::size_t bytes) noexcept;

/// For std::allocate_shared.
template <class T>
struct BlockAllocator {
  using value_type = T;
  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)
  // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_block(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) noexcept {
    deallocate_block(block, count * sizeof(T));
  }
  // NOLINTEND(bugprone-sizeof-expression)
  template <class U>
  friend bool operator==(const BlockAllocator& /*a*/, const BlockAllocator<U>& /*b*/) {
    return true;
  }
};

/// Gives a class operators new and delete of this kind.
template <class T>
struct InBlockCache {
  static void* operator new(std::size_t bytes) { return allocate_block(bytes); }
  static void operator delete(void* block) noexcept { deallocate_block(block, sizeof(T)); }
  static void* operator new(std::size_t bytes, std::align_val_t /*alignment*/) {
    return allocate_block(bytes);
  }
  static void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
    deallocate_block(block, sizeof(T));
  }
  static void* operator new(std::size_t /*bytes*/, void* place) noexcept { return place; }
};

}  // namespace heddle::base
