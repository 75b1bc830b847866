#pragma once

namespace heddle::faults {

/// While it lives the `first`-th thread to be created, from 1, and those after it cannot be; 0: all
/// can. Counts what any thread of the process creates. One at a time.
class FailingThreads {
 public:
  explicit FailingThreads(int first);
  ~FailingThreads();
  FailingThreads(const FailingThreads&) = delete;
  FailingThreads& operator=(const FailingThreads&) = delete;

  /// Creations that this one has refused.
  int refused() const;
};

}  // namespace heddle::faults
