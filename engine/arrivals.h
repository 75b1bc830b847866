#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "engine/arrival.h"
#include "engine/base/grain.h"
#include "engine/base/spin_lock.h"
#include "engine/base/sync.h"

namespace heddle::detail {

/// The pushes that no one has taken note of yet, in the order of their numbers.
///
/// Thread safety: lock() guards next() and publish(); the owner's lock all from size() to
/// end_taking(); the rest may be called from any thread.
///
/// Invariants:
///  - Arrivals taken_ to published_ - 1 are here. Number n is place n % kChunk of its chunk, which
///    names the one after it before anything in that is published.
///  - A chunk is used again, or destroyed if very many are unused, when all that was in it has been
///    taken, and nobody holds it. All are in the list from oldest_ on (first_ before there is one),
///    in that of spare_ or that of returned_, or held.
///  - The task of a place without an arrival may be one that has run, if nothing is to be done to
///    destroy it: the next one is made over it, and nothing looks at it.
///  - Who publishes holds lock(), which is sequentially consistent, and looks afterwards whether a
///    worker sleeps; who is going to sleep says so, and then asks empty() (both sequentially
///    consistent, too): one sees the other.
template <std::size_t kChunk>
class BasicArrivals {
 public:
  struct Chunk {
    std::array<Arrival, kChunk> places;
    Chunk* next = nullptr;  ///< of newer arrivals; of one that is unused, another such
    // Guarded by the owner's lock.
    std::uint32_t holders = 0;
    bool is_taken = false;   ///< all of it, while it is held
    std::size_t unused = 0;  ///< with those after it, when it was last put into returned_
  };

  BasicArrivals() = default;
  ~BasicArrivals() {
    for (; size() != 0; pop()) discard(front());
    destroy_list(oldest_ != nullptr ? oldest_ : first_);
    destroy_list(spare_);
    destroy_list(returned_.load(std::memory_order_relaxed));  // nobody else is here
  }
  BasicArrivals(const BasicArrivals&) = delete;
  BasicArrivals& operator=(const BasicArrivals&) = delete;

  base::SeenSpinLock& lock() { return lock_; }

  // By who holds lock().
  /// A place for the next one. Throws std::bad_alloc.
  Arrival& next() {
    if (next_ == end_) [[unlikely]]
      add_chunk();
    return *next_;
  }
  /// next() needs no memory for so many from now on. Throws std::bad_alloc.
  void reserve(std::size_t count) {
    auto places = static_cast<std::size_t>(end_ - next_);
    for (Chunk** next = &spare_; places < count; next = &(*next)->next, places += kChunk) {
      if (*next == nullptr) *next = unused();
    }
  }
  /// It is filled.
  void publish() {
    ++next_;
    published_.store(published_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // By who holds the owner's lock.
  /// How many are here, of which front() is the first.
  std::uint64_t size() const { return published() - next_taken_; }
  Arrival& front() {
    if (begin_ == kChunk) drop_chunk();
    return oldest_->places[begin_];
  }
  void pop() { pop(1); }
  /// So many of in_a_row().
  void pop(std::size_t count) {
    begin_ += count;
    next_taken_ += count;
  }
  /// Those from the front on that lie in one chunk, of which there is one.
  std::span<Arrival> in_a_row() {
    Arrival* const first = &front();
    return {first, std::min<std::size_t>(size(), kChunk - begin_)};
  }
  /// Keeps what in_a_row() gave where it is, taken or not, until drop().
  Chunk& hold() {
    ++oldest_->holders;
    return *oldest_;
  }
  void drop(Chunk& chunk) {
    if (--chunk.holders == 0 && std::exchange(chunk.is_taken, false)) give_back(chunk);
  }
  void end_taking() { taken_.store(next_taken_, std::memory_order_relaxed); }
  std::uint64_t taken() const { return next_taken_; }

  /// True if so many have been taken, as who takes the owner's lock next will see.
  bool has_taken(std::uint64_t count) const {
    return taken_.load(std::memory_order_relaxed) >= count;
  }
  /// How many have arrived so far.
  std::uint64_t published() const { return published_.load(std::memory_order_acquire); }
  /// False if there may be some, or somebody is just pushing. Sees all that is published by who
  /// then sees nobody asleep.
  bool empty() const { return !lock_.is_held() && seems_empty(); }
  /// The same, but may miss what is just published.
  bool seems_empty() const { return seem_fewer(1); }
  bool seem_fewer(std::uint64_t count) const {
    return published_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_relaxed) <
           count;
  }

 private:
  /// Chunks in returned_.
  static constexpr std::size_t kMostUnused = base::kUnusedArrivals / kChunk;

  static void destroy(Chunk& chunk) {
    // What is left has run, and may be of a library that is not loaded any more.
    for (Arrival& place : chunk.places) std::construct_at(&place.task);
    delete &chunk;
  }
  static void destroy_list(Chunk* first) {
    while (first != nullptr) destroy(*std::exchange(first, first->next));
  }
  /// A list of some.
  Chunk* unused() {
    Chunk* const first = returned_.exchange(nullptr, std::memory_order_acquire);
    return first != nullptr ? first : new Chunk;
  }
  void add_chunk() {
    if (spare_ == nullptr) spare_ = unused();
    Chunk* const chunk = spare_;
    spare_ = chunk->next;
    chunk->next = nullptr;
    // Who sees what is published next sees this, too.
    (newest_ != nullptr ? newest_->next : first_) = chunk;
    newest_ = chunk;
    next_ = chunk->places.data();
    end_ = next_ + kChunk;
  }
  void drop_chunk() {
    Chunk* const done = oldest_;
    oldest_ = done != nullptr ? done->next : first_;
    begin_ = 0;
    if (done == nullptr) return;
    done->is_taken = done->holders != 0;
    if (!done->is_taken) give_back(*done);
  }
  void give_back(Chunk& chunk) {
    chunk.next = returned_.load(std::memory_order_relaxed);
    do {
      chunk.unused = chunk.next != nullptr ? chunk.next->unused + 1 : 1;
    } while (chunk.unused <= kMostUnused &&
             !returned_.compare_exchange_weak(chunk.next, &chunk, std::memory_order_release,
                                              std::memory_order_relaxed));
    if (chunk.unused > kMostUnused) destroy(chunk);
  }

  // Of who pushes.
  alignas(64) base::SeenSpinLock lock_;
  Arrival* next_ = nullptr;  ///< in newest_
  Arrival* end_ = nullptr;   ///< of that
  Chunk* first_ = nullptr;   ///< that there ever was
  Chunk* newest_ = nullptr;
  Chunk* spare_ = nullptr;                                ///< unused ones
  alignas(64) base::Atomic<std::uint64_t> published_{0};  ///< looked at all the time

  // Of who takes.
  alignas(64) std::size_t begin_ = kChunk;  ///< in oldest_
  Chunk* oldest_ = nullptr;                 ///< null before the first is taken
  std::uint64_t next_taken_ = 0;
  base::Atomic<std::uint64_t> taken_{0};
  base::Atomic<Chunk*> returned_{nullptr};  ///< unused ones that who pushes may have
};

using Arrivals = BasicArrivals<64>;

}  // namespace heddle::detail
