#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "heddle/var.h"

namespace heddle::detail {

struct RecordedOp;

/// Lists of numbers, one for each number below a bound, in one piece of memory.
class NumberLists {
 public:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  ///< list, number

  NumberLists() = default;
  /// Keeps the order of the pairs in each list.
  NumberLists(std::size_t count, std::span<const Pair> pairs);
  std::span<const std::uint32_t> operator[](std::size_t list) const {
    return std::span(numbers_).subspan(begin_[list], begin_[list + 1] - begin_[list]);
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> numbers_;
};

/// What waits for what among the operations of a recording, so that a run need not find it out
/// again.
///
/// To the operations around it a run shows of each variable no more than three *uses*, each of
/// which takes its place as an operation with one access does: the reads before the first write,
/// all from the first write to the last one, and the reads after that. An operation that begins a
/// use waits for it, and the others of a use wait for operations of the run. So what is pushed
/// before and after waits for a run's operations as if these had been pushed one by one.
///
/// Invariants:
///  - Every operation names a variable, and so belongs to a use.
///  - A use that writes ends with its last write, as all others of it stand before that.
///  - Uses have their numbers in the order of the operations that begin them.
struct RecordedGraph {
  struct Use {
    std::size_t variable = 0;  ///< index of one of the program's that is it
    std::uint32_t last = 0;    ///< operation that ends it, or one of those that do
    std::uint32_t ends = 0;    ///< operations with which it ends
    std::uint32_t writes = 0;  ///< 0: it only reads
    bool is_inner = false;     ///< who waits for its end waits for that of another use, too
  };

  /// Null if it would not be worth it: a use costs the engine as much as an operation.
  static std::unique_ptr<const RecordedGraph> make(std::span<const RecordedOp> ops,
                                                   std::span<const Var> variables);

  std::vector<Use> uses;
  NumberLists starts;                   ///< of a use: the operations that wait for it
  NumberLists followers;                ///< of an operation: those that wait for it
  NumberLists ends;                     ///< of an operation: the uses that end with it, or others
  std::vector<std::uint32_t> blockers;  ///< of an operation: uses and operations that it waits for
  std::vector<std::uint32_t> waits;     ///< of these, the uses
  std::vector<std::uint8_t> simple;     ///< of an operation: if it is, see RecordedOp
  std::vector<std::uint32_t> numbers;   ///< of the program's variables: equal ones have the same
  std::size_t distinct = 0;
};

}  // namespace heddle::detail
