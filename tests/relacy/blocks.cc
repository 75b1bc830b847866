#include "tests/relacy/blocks.h"

#include <cstdlib>
#include <new>

#include "engine/base/block_cache.h"
#include "tests/relacy/model.h"

// In the place of engine/base/block_cache.cc, whose blocks outlive a simulated thread.

namespace heddle {
namespace relacy {
namespace {
BeforeFree g_before_free = nullptr;
}  // namespace

void call_before_free(BeforeFree before_free) { g_before_free = before_free; }

}  // namespace relacy

namespace base {

void* allocate_block(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{64}); }

void deallocate_block(void* block, std::size_t /*bytes*/) noexcept {
  if (relacy::g_before_free != nullptr) relacy::g_before_free();
  ::operator delete (block, std::align_val_t{64});
}

}  // namespace base
}  // namespace heddle
