#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/spin_lock.h"
#include "engine/base/sync.h"
#include "engine/many_variables.h"
#include "engine/operation.h"

namespace heddle::detail {

/// A plain push, as it is left for who takes note of it: two lines.
struct alignas(64) Arrival {
  Task task;
  Device device;

  union {
    std::array<VarState*, Operation::kInlineAccesses> variables;  ///< the mutated ones first
    ManyVariables* many = nullptr;  ///< owned, with the queue: a Stretch ends before it
  };
  LaneQueue* queue = nullptr;  ///< null if it has many; then the counts are 0
  int priority = 0;
  std::uint16_t flags = 0;  ///< of the operation
  std::uint8_t mutate_count = 0;
  std::uint8_t read_count = 0;
  std::uint64_t generation = 0;  ///< which waits for everything cover it
  std::uint64_t sequence = 0;

  /// It names more variables than lie here.
  bool has_many() const { return queue == nullptr; }
  std::span<VarState* const> mutates() const { return {variables.data(), mutate_count}; }
  std::span<VarState* const> reads() const { return {variables.data() + mutate_count, read_count}; }
  std::span<VarState* const> all() const {
    return {variables.data(), std::size_t{mutate_count} + read_count};
  }
};

static_assert(sizeof(Task) != 56 || offsetof(Arrival, variables) == 64,
              "what is looked at to find conflicts lies on one line");

/// Destroys what it holds, as nobody will take it in.
inline void discard(Arrival& arrival) {
  arrival.task.reset();
  if (arrival.has_many()) delete arrival.many;
}

/// True if the one must wait until the other has ended.
inline bool conflict(const Arrival& a, const Arrival& b) {
  const auto has = [](std::span<VarState* const> list, const VarState* var) {
    return std::find(list.begin(), list.end(), var) != list.end();
  };
  for (const VarState* const var : a.mutates()) {
    if (has(b.mutates(), var) || has(b.reads(), var)) return true;
  }
  return std::any_of(a.reads().begin(), a.reads().end(),
                     [&](const VarState* var) { return has(b.mutates(), var); });
}

/// What an unused operation needs of an arrival, but for the callable.
inline void begin_from(Operation& op, const Arrival& arrival) {
  op.sequence = arrival.sequence;
  op.generation = arrival.generation;
  LaneQueue* const queue = arrival.has_many() ? arrival.many->queue : arrival.queue;
  op.begin(arrival.priority, arrival.device, arrival.flags, queue);
}

/// The pushes that no one has taken note of yet, in the order of their numbers.
///
/// Thread safety: lock() guards next() and publish(); the owner's lock all from size() to
/// end_taking(); the rest may be called from any thread.
///
/// Invariants:
///  - Arrivals taken_ to published_ - 1 are here. Number n is place n % kChunk of its chunk, which
///    names the one after it before anything in that is published.
///  - A chunk is used again when all that was in it has been taken, and nobody holds it.
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
    Chunk* next = nullptr;      ///< of newer arrivals; of one that is unused, another such
    std::uint32_t holders = 0;  ///< guarded by the owner's lock, as the next one
    bool is_taken = false;      ///< all of it, while it is held
  };

  BasicArrivals() = default;
  ~BasicArrivals() {
    for (; size() != 0; pop()) discard(front());
    // What is left has run, and may be of a library that is not loaded any more.
    for (const auto& chunk : chunks_) {
      for (Arrival& place : chunk->places) std::construct_at(&place.task);
    }
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
  void add_chunk() {
    if (spare_ == nullptr) spare_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (spare_ == nullptr) {
      chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
      spare_ = chunks_.back().get();
    }
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
    while (!returned_.compare_exchange_weak(chunk.next, &chunk, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    }
  }

  // Of who pushes.
  alignas(64) base::SeenSpinLock lock_;
  Arrival* next_ = nullptr;  ///< in newest_
  Arrival* end_ = nullptr;   ///< of that
  Chunk* first_ = nullptr;   ///< that there ever was
  Chunk* newest_ = nullptr;
  Chunk* spare_ = nullptr;  ///< unused ones
  std::vector<std::unique_ptr<Chunk>> chunks_;
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
