#include "engine/base/cpus.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>

namespace heddle::base {
namespace {

namespace fs = std::filesystem;

/// Where a cgroup hierarchy that may limit CPU time is mounted.
struct Mount {
  bool version2 = false;
  std::string root;  // the cgroup that appears at `point`
  std::string point;
};

bool contains_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

/// A line of mountinfo: "id parent dev root point options [tags…] - type source super_options".
std::optional<Mount> parse_mount(const std::string& line) {
  std::istringstream fields(line);
  Mount mount;
  std::string word;
  std::string type;
  std::string source;
  std::string super_options;
  fields >> word >> word >> word >> mount.root >> mount.point;
  while (fields >> word && word != "-") {
  }
  fields >> type >> source >> super_options;
  mount.version2 = type == "cgroup2";
  if (mount.version2 || (type == "cgroup" && contains_word(super_options, "cpu"))) return mount;
  return std::nullopt;
}

/// This process's cgroup in the hierarchy of `mount`; lines are "number:controllers:path".
std::optional<std::string> cgroup_path(const fs::path& root, const Mount& mount) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool ours = mount.version2 ? controllers.empty() : contains_word(controllers, "cpu");
    if (ours) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<double> quota_of(const fs::path& group, bool version2) {
  double quota = -1;  // "max" and -1 stand for none
  double period = 0;
  if (version2) {
    std::ifstream(group / "cpu.max") >> quota >> period;
  } else {
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  if (quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

/// The least quota from the process's group up to the mount point.
std::optional<double> least_quota(const fs::path& root, const Mount& mount) {
  const std::optional<std::string> path = cgroup_path(root, mount);
  if (!path) return std::nullopt;
  const fs::path point = root / fs::path(mount.point).relative_path();
  fs::path below = fs::path(*path).lexically_relative(mount.root);
  // A path outside of what is mounted: all that can be seen is the mount point itself.
  if (below.empty() || *below.begin() == "..") below = ".";

  std::optional<double> least;
  fs::path group = point;
  for (auto step = below.begin();; ++step) {
    if (const std::optional<double> quota = quota_of(group, mount.version2)) {
      least = std::min(*quota, least.value_or(*quota));
    }
    if (step == below.end()) return least;
    group /= *step;
  }
}

int affinity_count() {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    std::vector<cpu_set_t> set(bytes / sizeof(cpu_set_t) + 1);
    if (sched_getaffinity(0, bytes, set.data()) == 0) return CPU_COUNT_S(bytes, set.data());
    if (errno != EINVAL) break;  // EINVAL: the kernel's mask is larger than ours
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
  std::optional<double> least;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::optional<Mount> mount = parse_mount(line);
    if (!mount) continue;
    if (const std::optional<double> quota = least_quota(root, *mount)) {
      least = std::min(*quota, least.value_or(*quota));
    }
  }
  return least;
}

int usable_cpus(const fs::path& root) {
  int cpus = affinity_count();
  if (const std::optional<double> quota = cgroup_cpu_quota(root)) {
    cpus = static_cast<int>(std::min<double>(cpus, std::ceil(*quota)));
  }
  return std::max(cpus, 1);
}

int current_cpu() noexcept { return sched_getcpu(); }

KeptOff::KeptOff(int cpu) noexcept {
  Affinity affinity;
  if (cpu < 0 || sched_getaffinity(0, sizeof affinity.before, &affinity.before) != 0) return;
  affinity.others = affinity.before;
  CPU_CLR(static_cast<unsigned>(cpu), &affinity.others);
  if (CPU_COUNT(&affinity.others) == 0 || CPU_EQUAL(&affinity.others, &affinity.before)) return;
  if (sched_setaffinity(0, sizeof affinity.others, &affinity.others) == 0) changed_ = affinity;
}

KeptOff::~KeptOff() {
  if (!changed_) return;
  cpu_set_t now;
  if (sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &changed_->others)) return;
  sched_setaffinity(0, sizeof changed_->before, &changed_->before);
}

void leave_cpu() noexcept { const KeptOff kept(current_cpu()); }

}  // namespace heddle::base
