#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// What every contender is given to run: lists of operations on numbered variables.
namespace bench::engine {

/// One operation, by the numbers of the variables that it reads and writes. None is named twice.
struct Operation {
  std::vector<int> reads;
  std::vector<int> writes;
};

/// A list of operations in program order.
struct Program {
  std::string name;
  int variables = 0;
  std::vector<Operation> operations;
};

// Each of `count` operations, always the same ones.
Program independent(int count);       ///< each writes one of 1000 variables in turn
Program chain(int count);             ///< all write one variable
Program write_then_reads(int count);  ///< one write, then 63 reads of the same variable
Program binary(int count);            ///< two random reads and one random write of 1024
/// A row of 64 cells after the other, each from three cells of the row before.
Program stencil(int count);

/// What an operation does: nothing, or spin for a time, or check that it runs in its turn.
///
/// Thread safety: run() as the contender's dependencies allow, the rest by one thread.
class Body {
 public:
  /// Does nothing.
  Body() = default;
  /// Spins for `grain`.
  explicit Body(std::chrono::nanoseconds grain);
  /// Checks, for every variable, that all earlier writes and, before a write, all earlier reads
  /// have ended.
  explicit Body(const Program& program);

  void run(std::size_t operation) const {
    if (mode_ != Mode::kEmpty) work(operation);
  }
  /// Operations that ran out of turn, and those that did not run, since construction.
  std::size_t errors() const;

 private:
  enum class Mode : std::uint8_t { kEmpty, kSpin, kCheck };
  struct Cell {
    std::atomic<int> writes{0};
    std::atomic<int> reads{0};  ///< since the last write
  };
  struct Expected {
    int variable;
    int writes;
    int reads;  ///< -1: a read, for which they do not matter
  };
  void work(std::size_t operation) const;
  void check(std::size_t operation) const;

  Mode mode_ = Mode::kEmpty;
  std::chrono::nanoseconds grain_{0};
  std::size_t expected_runs_ = 0;
  std::vector<std::vector<Expected>> expected_;  ///< per operation
  std::unique_ptr<Cell[]> cells_;
  mutable std::atomic<std::size_t> wrong_{0};
  mutable std::atomic<std::size_t> runs_{0};
};

}  // namespace bench::engine
