#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heddle/device.h"
#include "heddle/var.h"

namespace heddle::device {
class Backend;
}

namespace heddle::detail {

enum class Touch : std::uint8_t;

/// A block of memory on one device, and the variable that orders access to it. What arrays and
/// their views share; whoever pushes an operation on the block keeps the storage alive in it.
///
/// Thread safety: every member but the destructor may be called from any thread.
///
/// Invariants:
/// - block_ goes from null to the block once, by an exchange with release order; who reads it with
///   acquire order sees the block as allocate() left it. Only exchange() puts another one there.
/// - The block is given back once: by the last operation on var_, or by the destructor if no
///   operation can follow any more.
class Storage {
 public:
  /// Takes no memory yet. Throws what Engine::get() and Engine::new_variable() throw.
  Storage(Device device, std::size_t bytes);
  /// Never blocks; the memory is given back after every operation on it.
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Device device() const { return device_; }
  std::size_t bytes() const { return bytes_; }
  const Var& var() const { return var_; }
  /// True if the host may touch the block outside of operations.
  bool host_accessible() const { return host_accessible_; }

  /// The block, open for the operation that the caller is in, if it is in one. The first call
  /// takes the memory; if there is none, it waits for other operations to give some back. Throws
  /// OutOfMemory; outside of operations Error unless host_accessible().
  std::byte* open();
  /// As open(), for `bytes` bytes from byte `begin` on, and how they are touched is compared with
  /// what the operation has declared, if EngineOptions::access_check. Throws AccessViolation.
  std::byte* open(Touch touch, std::size_t begin, std::size_t bytes);

  /// Takes the memory now. Throws OutOfMemory.
  void reserve() { block(); }

  /// Gives each of two storages of one device and size, not host_accessible(), the other's block.
  /// Nothing else may touch the blocks meanwhile. Throws OutOfMemory.
  static void exchange(Storage& a, Storage& b);

 private:
  void* block();
  void* allocate() const;
  void give_back() noexcept;

  device::Backend& backend_;
  const Device device_;
  const std::size_t bytes_;
  const bool host_accessible_;
  Var var_;
  std::atomic<void*> block_{nullptr};
};

}  // namespace heddle::detail
