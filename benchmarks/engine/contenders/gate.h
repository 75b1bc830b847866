#pragma once

#include <cstddef>
#include <latch>

namespace bench::engine {

/// Keeps workers from running anything else.
///
/// Thread safety: block() is called by each worker once, the rest by one other thread.
class Gate {
 public:
  explicit Gate(int workers) : missing_(workers) {}

  /// Blocks until open().
  void block() {
    missing_.count_down();
    closed_.wait();
  }
  /// Blocks until every worker is in block().
  void wait_for_workers() { missing_.wait(); }
  void open() { closed_.count_down(); }

 private:
  std::latch missing_;
  std::latch closed_{1};
};

}  // namespace bench::engine
