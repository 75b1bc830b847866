#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <catch2/catch.hpp>
#include <sched.h>

namespace heddle::support {

/// The CPUs that a thread may use, by default the calling one, at most 1024 of them; none on a
/// larger machine.
inline std::vector<std::size_t> cpus_of_thread(pid_t thread = 0) {
  std::vector<std::size_t> cpus;
  cpu_set_t set;
  if (sched_getaffinity(thread, sizeof set, &set) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

/// The calling thread may use only these CPUs from now on. False if the system refuses it.
inline bool pin_thread(std::span<const std::size_t> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::size_t cpu : cpus) CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// While it lives the thread that made it, and those that it starts, may use only these CPUs.
class OnCpus {
 public:
  explicit OnCpus(std::span<const std::size_t> cpus) {
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    REQUIRE(pin_thread(cpus));
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
