#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "engine/base/prefetch.h"
#include "engine/operation.h"

namespace heddle::detail {

/// The memory of operations: allocated together, used again and again, those first that were used
/// last.
///
/// Thread safety: none; guarded by its owner's lock.
///
/// Invariants: unused_ has the operations that nobody has taken, and room for all there are, so
/// that to give one back cannot throw.
class OperationSlabs {
 public:
  std::size_t unused() const { return unused_.size(); }
  /// Sees to it that so many are unused. Throws std::bad_alloc.
  void reserve(std::size_t count) {
    if (unused_.size() >= count) return;
    const std::size_t missing = (count - unused_.size() + kSlab - 1) / kSlab;
    unused_.reserve((slabs_.size() + missing) * kSlab);  // at once: add() would copy each time
    while (unused_.size() < count) add();
  }
  bool try_reserve(std::size_t count) noexcept try {
    reserve(count);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  /// The one that take() gives, if there is one.
  Operation& next() { return *unused_.back(); }
  Operation& take() {
    Operation& op = next();
    unused_.pop_back();
    return op;
  }
  /// Those that so many calls of take() give, in that order; they are taken by drop(). Throws
  /// std::bad_alloc.
  void list(std::size_t count, std::vector<Operation*>& ops) const {
    ops.assign(unused_.rbegin(), unused_.rbegin() + static_cast<std::ptrdiff_t>(count));
  }
  void drop(std::size_t count) { unused_.resize(unused_.size() - count); }
  void give_back(Operation& op) noexcept { unused_.push_back(&op); }
  /// Has one fetched that take() will give some calls from now.
  void fetch_ahead() const {
    if (unused_.size() < kAhead) return;
    base::prefetch_lines(*(unused_.end() - kAhead), Operation::kFirstLine, Operation::kAccessLine);
  }

  /// Calls `visit` for all that there are, in no order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& slab : slabs_) {
      for (std::size_t i = 0; i < kSlab; ++i) visit(slab[i]);
    }
  }

 private:
  static constexpr std::size_t kSlab = 64;
  /// How many operations ahead of their use unused ones are fetched.
  static constexpr std::size_t kAhead = 4;

  void add() {
    unused_.reserve((slabs_.size() + 1) * kSlab);
    slabs_.push_back(std::make_unique<Operation[]>(kSlab));
    for (std::size_t i = 0; i < kSlab; ++i) unused_.push_back(&slabs_.back()[i]);
  }

  std::vector<Operation*> unused_;
  std::vector<std::unique_ptr<Operation[]>> slabs_;
};

}  // namespace heddle::detail
