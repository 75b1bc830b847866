#pragma once

namespace heddle::base {

/// From now on a parallel region of OpenMP that the calling thread opens has at most as many
/// threads as there are usable CPUs for each of `workers`, and at least 1; fewer if OMP_NUM_THREADS
/// says so. Does nothing in a process into which no OpenMP runtime is loaded; of several the first
/// is told.
void share_cpus_with_openmp(int workers) noexcept;

}  // namespace heddle::base
