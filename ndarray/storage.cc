#include "ndarray/storage.h"

#include <utility>

#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/ndarray.h"

#include "engine/access_check.h"
#include "engine/device/backend.h"
#include "engine/engine_core.h"
#include "engine/operation_scope.h"
#include "engine/recorder.h"

namespace heddle::detail {

Storage::Storage(Device device, std::size_t bytes)
    : backend_(device::backend_of(device)),
      device_(device),
      bytes_(bytes),
      host_accessible_(backend_.host_accessible()),
      var_(Engine::get().new_variable()) {}

Storage::~Storage() {
  // Whoever released the last handle has synchronized with all that used one.
  if (block_.load(std::memory_order_relaxed) != nullptr) give_back();
}

void Storage::give_back() noexcept {
  void* const block = block_.load(std::memory_order_relaxed);
  const auto bytes = static_cast<std::ptrdiff_t>(bytes_);
  const auto deallocate = [&backend = backend_, block, bytes] {
    backend.expect(-bytes);
    backend.deallocate(block, static_cast<std::size_t>(bytes));
  };
  backend_.expect(bytes);
  // Nothing recorded refers to the block, else it would keep the storage: it goes now.
  const PauseRecording pause;
  try {
    push_free(Engine::get(), std::move(var_), device_, deallocate);
  } catch (const EngineStopped&) {
    // No operation can still want the block: it would keep the storage alive. But an operation of
    // another engine that destroys an array has blocks open, so there the memory is left alone.
    if (OperationScope::current() == nullptr) return deallocate();
    backend_.expect(-bytes);
  } catch (...) {
    // In a forked child, or without memory for one operation more, the block stays where it is.
    backend_.expect(-bytes);
  }
}

std::byte* Storage::open() {
  if (host_accessible_) return static_cast<std::byte*>(block());
  OperationScope* const scope = OperationScope::current();
  if (scope == nullptr) {
    throw Error("[data] array on " + device_.str() +
                " outside of an operation: its elements are open to operations only; to_vector() "
                "reads them");
  }
  void* const opened = block();
  scope->open(backend_, opened, bytes_);
  return static_cast<std::byte*>(opened);
}

std::byte* Storage::open(Touch touch, std::size_t begin, std::size_t bytes) {
  AccessCheck* const check = OperationScope::check_for(*VarRef(var_).state());
  if (check == nullptr) return open() + begin;
  const VarState& var = *VarRef(var_).state();
  const bool may_write = check->touch(var, touch == Touch::kWrite);
  std::byte* const opened = open() + begin;
  // A GPU's own memory cannot be looked at from here.
  const bool is_visible = backend_.runs_cpu_kernels();
  if (touch == Touch::kReadOrWrite && !may_write && is_visible) check->guard(var, opened, bytes);
  return opened;
}

void Storage::exchange(Storage& a, Storage& b) {
  void* const of_a = a.block();
  void* const of_b = b.block();
  a.block_.store(of_b, std::memory_order_release);
  b.block_.store(of_a, std::memory_order_release);
}

/// Takes memory, or null if another operation has done so meanwhile. If there is none, waits for
/// what a serial program would have got back by now.
void* Storage::allocate() const {
  try {
    return backend_.allocate(bytes_);
  } catch (const OutOfMemory&) {
    const OperationScope* const scope = OperationScope::current();
    if (scope == nullptr) throw;
    void* block = nullptr;
    const auto attempt = [&] {
      if (block_.load(std::memory_order_acquire) != nullptr) return true;
      try {
        block = backend_.allocate(bytes_);
      } catch (const OutOfMemory&) {
        return false;
      }
      return true;
    };
    if (!scope->engine()->retry_while_others_end(attempt)) throw;
    return block;
  }
}

// The orders are those of the first invariant.
void* Storage::block() {
  if (void* const block = block_.load(std::memory_order_acquire)) return block;
  void* const fresh = allocate();
  void* first = nullptr;
  if (block_.compare_exchange_strong(first, fresh, std::memory_order_acq_rel)) return fresh;
  if (fresh != nullptr) backend_.deallocate(fresh, bytes_);
  return first;
}

}  // namespace heddle::detail
