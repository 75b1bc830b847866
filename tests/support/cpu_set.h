#pragma once

#include <cstddef>
#include <span>
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

/// While it lives the thread that made it, and those that it starts, may use only these CPUs.
class OnCpus {
 public:
  explicit OnCpus(std::span<const std::size_t> cpus) {
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::size_t cpu : cpus) CPU_SET(cpu, &set);
    REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
  }
  ~OnCpus() { sched_setaffinity(0, sizeof before_, &before_); }
  OnCpus(const OnCpus&) = delete;
  OnCpus& operator=(const OnCpus&) = delete;

 private:
  cpu_set_t before_;
};

/// The same with the first `count` of its CPUs.
class FewerCpus {
 public:
  explicit FewerCpus(std::size_t count) : on_(first(cpus_of_thread(), count)) {}

 private:
  static std::vector<std::size_t> first(std::vector<std::size_t> cpus, std::size_t count) {
    REQUIRE(count <= cpus.size());
    cpus.resize(count);
    return cpus;
  }

  const OnCpus on_;
};

}  // namespace heddle::support
