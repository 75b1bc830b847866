#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model_op.h"

namespace heddle::detail {

/// Who must end before whom in a program. Its nodes are the operations and, behind them, the waits
/// of threads: an operation comes after those that it conflicts with, and after the last wait of
/// the thread that pushed it.
class ModelGraph {
 public:
  /// Both in order: of their sequence numbers, and of what they cover.
  ModelGraph(std::span<const ModelOp> ops, std::span<const ModelWait> waits);

  std::size_t size() const { return successors_.size(); }
  /// Those that `node` must end before, once for each reason.
  std::span<const std::size_t> successors(std::size_t node) const { return successors_[node]; }
  /// The operations that `node`, an operation, conflicts with, of those before it.
  std::span<const std::size_t> conflicts(std::size_t node) const { return conflicts_[node]; }
  /// What the thread that pushed `node`, an operation, had waited for last; kNone: nothing.
  std::size_t gate(std::size_t node) const { return gates_[node]; }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

 private:
  struct Variable {
    std::size_t last_write = kNone;
    std::vector<std::size_t> reads;  ///< since then
  };
  /// What is needed while it is built.
  struct Building {
    std::unordered_map<std::uint64_t, Variable> variables;
    std::unordered_map<std::uint32_t, std::size_t> last_wait;  ///< of each thread
    std::vector<std::size_t> since_barrier;  ///< the last wait for everything, and what follows
  };

  void add_edge(std::size_t before, std::size_t after);
  void add_conflict(std::size_t before, std::size_t node);
  void add_operation(std::size_t node, const ModelOp& op, Building& building);
  void add_wait(std::size_t node, const ModelWait& wait, Building& building);

  std::vector<std::vector<std::size_t>> successors_;
  std::vector<std::vector<std::size_t>> conflicts_;
  std::vector<std::size_t> gates_;
};

}  // namespace heddle::detail
