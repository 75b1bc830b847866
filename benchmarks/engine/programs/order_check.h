#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "programs/body.h"
#include "programs/program.h"

namespace bench::engine {

/// Checks, for every variable, that nobody else uses it during a write, that no write happens
/// during a read, and that all earlier writes and, before a write, all earlier reads that the same
/// thread pushed have ended.
///
/// Thread safety: what body() gives runs as the contender's dependencies allow, the rest is called
/// by one thread.
class OrderCheck {
 public:
  explicit OrderCheck(const Program& program);

  /// For one run of the program. It refers to this object.
  Body body() {
    return Body([this](std::size_t operation) { check(operation); });
  }
  /// So far.
  std::size_t operations_run() const { return runs_; }
  /// Uses out of turn, and operations that did not run or ran twice.
  std::size_t errors() const;

 private:
  /// What the operations of one thread have done with one variable.
  struct Cell {
    std::atomic<int> writes{0};
    std::atomic<int> reads{0};  ///< since the last write
  };
  struct Use {
    int variable;
    bool writes;
    int earlier_writes;
    int earlier_reads;  ///< since the last write; do not matter to a read
  };

  void check(std::size_t operation);
  void begin(const Use& use, const Cell& cell);
  void end(const Use& use, Cell& cell);
  Cell& cell(std::size_t operation, int variable);

  std::size_t pushers_;
  std::size_t variables_;
  std::vector<std::vector<Use>> uses_;         ///< per operation
  std::unique_ptr<Cell[]> cells_;              ///< per pusher and variable
  std::unique_ptr<std::atomic<int>[]> users_;  ///< per variable: its readers, or -1 for a writer
  std::unique_ptr<std::atomic<bool>[]> ran_;   ///< per operation
  std::atomic<std::size_t> runs_{0};
  std::atomic<std::size_t> wrong_{0};
};

}  // namespace bench::engine
