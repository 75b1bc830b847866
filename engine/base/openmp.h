#pragma once

namespace heddle::base {

/// The OpenMP runtime of the process, if there was one when the object was made; of several the
/// first. heddle uses none itself.
///
/// Thread safety: every member may be called from any thread.
class OpenMp {
 public:
  /// For threads of which there are `workers`.
  explicit OpenMp(int workers) noexcept;

  /// From now on a parallel region that the calling thread opens has at most as many threads as
  /// there are usable CPUs for each worker, and at least 1; fewer if it was set so. Returns how
  /// many it was.
  int share_cpus() const noexcept;
  /// Undoes share_cpus(), which has returned `threads`.
  void restore(int threads) const noexcept;

 private:
  int (*get_)() = nullptr;
  void (*set_)(int) = nullptr;  ///< null: there is none
  int share_ = 1;
};

}  // namespace heddle::base
