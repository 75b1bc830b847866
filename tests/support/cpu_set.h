#pragma once

#include <cstddef>
#include <vector>

#include <catch2/catch.hpp>
#include <sched.h>

namespace heddle::support {

/// The CPUs that the calling thread may use, at most 1024 of them; none on a larger machine.
inline std::vector<std::size_t> cpus_of_thread() {
  std::vector<std::size_t> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

/// While it lives the thread that made it, and those that it starts, may use only the first `count`
/// of its CPUs.
class FewerCpus {
 public:
  explicit FewerCpus(std::size_t count) {
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    const std::vector<std::size_t> all = cpus_of_thread();
    REQUIRE(count <= all.size());
    cpu_set_t set;
    CPU_ZERO(&set);
    for (std::size_t i = 0; i < count; ++i) CPU_SET(all[i], &set);
    REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
  }
  ~FewerCpus() { sched_setaffinity(0, sizeof before_, &before_); }
  FewerCpus(const FewerCpus&) = delete;
  FewerCpus& operator=(const FewerCpus&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace heddle::support
