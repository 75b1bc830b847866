#include "engine/base/block_cache.h"

#include <array>
#include <cstdlib>
#include <new>
#include <utility>

#include "engine/base/asan.h"
#include "engine/base/depot.h"

namespace heddle::base {
namespace {

constexpr std::size_t kStep = 64;
constexpr std::size_t kClasses = 10;

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

constexpr bool kDirect = kThreadSanitizer || kAddressSanitizer;

/// So many blocks as change hands between threads at a time.
struct Magazine {
  static constexpr std::size_t kSize = 32;

  std::size_t count = 0;
  std::array<void*, kSize> blocks;
  Magazine* next = nullptr;
};

/// Those of one size of block that threads have filled for others.
using Magazines = Depot<Magazine>;

/// Never destroyed: blocks are given back until the process ends.
std::array<Magazines, kClasses>& depots() {
  static auto* const depots = new std::array<Magazines, kClasses>;
  return *depots;
}

void* new_block(std::size_t bytes) {
  void* const block = std::aligned_alloc(kStep, (bytes + kStep - 1) / kStep * kStep);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

/// The blocks that a thread keeps of one size: a magazine that it takes from and gives to, and
/// full ones behind it.
class Shelf {
 public:
  void* take(std::size_t size_class) {
    if (first_ == nullptr || first_->count == 0) refill(size_class);
    if (first_ != nullptr && first_->count > 0) return first_->blocks[--first_->count];
    return new_block((size_class + 1) * kStep);
  }
  void put(void* block, std::size_t size_class) noexcept {
    if (first_ != nullptr && first_->count == Magazine::kSize) {
      // One full magazine stays, so that a thread that takes and gives in turn needs no other.
      if (spare_ != nullptr) depots()[size_class].put(*std::exchange(spare_, nullptr));
      spare_ = std::exchange(first_, nullptr);
    }
    if (first_ == nullptr) first_ = new (std::nothrow) Magazine;
    if (first_ == nullptr) return std::free(block);
    first_->blocks[first_->count++] = block;
  }
  /// The thread ends. An empty magazine is of no use to others, who would gather them.
  void close(std::size_t size_class) noexcept {
    if (first_ != nullptr && first_->count == 0) delete std::exchange(first_, nullptr);
    for (Magazine** kept : {&first_, &spare_, &stock_}) {
      if (*kept != nullptr) depots()[size_class].put(*std::exchange(*kept, nullptr));
    }
  }

 private:
  void refill(std::size_t size_class) {
    if (spare_ == nullptr && stock_ == nullptr) stock_ = depots()[size_class].take_all();
    Magazine* more = std::exchange(spare_, nullptr);
    if (more == nullptr && stock_ != nullptr) {
      more = std::exchange(stock_, stock_->next);
      more->next = nullptr;
    }
    if (more == nullptr) return;
    delete std::exchange(first_, more);
  }

  Magazine* first_ = nullptr;
  Magazine* spare_ = nullptr;  ///< full
  Magazine* stock_ = nullptr;  ///< full ones from the depot, linked
};

struct Shelves {
  std::array<Shelf, kClasses> of_class;
  ~Shelves();
};

thread_local bool t_closed = false;  // trivial: may be read after thread_local destructors have run
thread_local Shelves t_shelves;

Shelves::~Shelves() {
  t_closed = true;
  for (std::size_t i = 0; i < kClasses; ++i) of_class[i].close(i);
}

std::size_t class_of(std::size_t bytes) { return bytes == 0 ? 0 : (bytes - 1) / kStep; }

}  // namespace

void* allocate_block(std::size_t bytes) {
  const std::size_t size_class = class_of(bytes);
  if (kDirect || size_class >= kClasses || t_closed) return new_block(bytes);
  return t_shelves.of_class[size_class].take(size_class);
}

void deallocate_block(void* block, std::size_t bytes) noexcept {
  const std::size_t size_class = class_of(bytes);
  if (kDirect || size_class >= kClasses || t_closed) return std::free(block);
  t_shelves.of_class[size_class].put(block, size_class);
}

}  // namespace heddle::base
