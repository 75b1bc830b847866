#pragma once

#include <filesystem>
#include <optional>

#include <sched.h>

namespace heddle::base {

/// Number of CPUs that this process may keep busy: its affinity mask, cut by its cgroup's CPU
/// quota (rounded up). At least 1. Reads the state of the moment; calls are not cheap. `root`
/// stands for "/", where the quota is looked up.
int usable_cpus(const std::filesystem::path& root = "/");

/// The CPU that the calling thread runs on, or has a moment ago; -1 if the system does not say.
int current_cpu() noexcept;

/// Keeps the calling thread off a CPU as long as this lives, if it may use another one. Then its
/// affinity is what it was, of the CPUs that could be used at first, unless somebody has set
/// another one meanwhile (that this happens to be the same one cannot be seen).
class KeptOff {
 public:
  explicit KeptOff(int cpu) noexcept;  ///< -1: off none
  ~KeptOff();
  KeptOff(const KeptOff&) = delete;
  KeptOff& operator=(const KeptOff&) = delete;

 private:
  struct Affinity {
    cpu_set_t before;
    cpu_set_t others;
  };
  std::optional<Affinity> changed_;
};

/// Has the calling thread go on on another CPU that it may use, if there is one: where the system
/// would leave it behind others for long. Its affinity is then as after KeptOff.
void leave_cpu() noexcept;

/// The CPU quota, in CPUs, that cgroups (version 1 or 2) set for this process: the least along the
/// path to the root; nullopt if there is none. `root` stands for "/".
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root);

}  // namespace heddle::base
