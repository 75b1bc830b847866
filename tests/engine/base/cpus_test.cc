#include "engine/base/cpus.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/cpu_set.h"
#include "tests/support/temporary_folder.h"

namespace heddle::base {
namespace {

using support::FewerCpus;
using support::TemporaryFolder;  // stands for "/"

constexpr const char* kMountVersion2 =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

/// Puts the process into a group that has this in its cpu.max.
void limit_version2(const TemporaryFolder& root, const std::string& quota) {
  root.write("proc/self/mountinfo", kMountVersion2);
  root.write("proc/self/cgroup", "0::/app\n");
  root.write("sys/fs/cgroup/app/cpu.max", quota + "\n");
}

TEST_CASE("a process may use at least one CPU and no more than the machine has") {
  const int cpus = usable_cpus();
  CHECK(cpus >= 1);
  CHECK(cpus <= static_cast<int>(std::thread::hardware_concurrency()));
}

TEST_CASE("a process may use the CPUs of its affinity mask and no others") {
  const int before = usable_cpus();  // less than there are where a quota says so
  for (std::size_t cpus = support::cpus_of_thread().size(); cpus > 0; --cpus) {
    const FewerCpus fewer(cpus);
    CHECK(usable_cpus() == std::min(before, static_cast<int>(cpus)));
  }
  CHECK(usable_cpus() == before);
}

TEST_CASE("a thread that is kept off a CPU may use the others, and afterwards all again") {
  const std::vector<std::size_t> all = support::cpus_of_thread();
  if (all.size() < 2) return;
  {
    const KeptOff kept(static_cast<int>(all.front()));
    CHECK(support::cpus_of_thread() == std::vector<std::size_t>(all.begin() + 1, all.end()));
    CHECK(current_cpu() != static_cast<int>(all.front()));
  }
  CHECK(support::cpus_of_thread() == all);
}

TEST_CASE("nobody is kept off the only CPU that it may use, or off none") {
  const FewerCpus one(1);
  const std::vector<std::size_t> all = support::cpus_of_thread();
  const KeptOff kept(static_cast<int>(all.front()));
  const KeptOff off_none(-1);
  CHECK(support::cpus_of_thread() == all);
}

TEST_CASE("an affinity that is set while a thread is kept off a CPU stays") {
  const std::vector<std::size_t> all = support::cpus_of_thread();
  if (all.size() < 2) return;
  const support::OnCpus back(all);
  {
    const KeptOff kept(static_cast<int>(all.front()));
    REQUIRE(support::pin_thread(std::vector{all.front()}));
  }
  CHECK(support::cpus_of_thread() == std::vector<std::size_t>{all.front()});
}

TEST_CASE("no cgroup means no quota") {
  const TemporaryFolder root;
  CHECK(cgroup_cpu_quota(root.path()) == std::nullopt);
}

TEST_CASE("a version 2 quota is the group's cpu.max") {
  const TemporaryFolder root;
  limit_version2(root, "150000 100000");
  CHECK(cgroup_cpu_quota(root.path()) == 1.5);
}

TEST_CASE("a process may use as many CPUs as its quota says, rounded up") {
  const TemporaryFolder root;
  limit_version2(root, "20000 100000");
  CHECK(usable_cpus(root.path()) == 1);
  limit_version2(root, "150000 100000");
  const auto allowed = static_cast<int>(support::cpus_of_thread().size());
  CHECK(usable_cpus(root.path()) == std::min(allowed, 2));
  limit_version2(root, "100000000 100000");
  CHECK(usable_cpus(root.path()) == allowed);
}

TEST_CASE("a version 2 quota of max is none") {
  const TemporaryFolder root;
  limit_version2(root, "max 100000");
  CHECK(cgroup_cpu_quota(root.path()) == std::nullopt);
}

TEST_CASE("the least quota along the path to the root counts") {
  const TemporaryFolder root;
  root.write("proc/self/mountinfo", kMountVersion2);
  root.write("proc/self/cgroup", "0::/outer/inner\n");
  root.write("sys/fs/cgroup/outer/cpu.max", "200000 100000\n");
  root.write("sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
  CHECK(cgroup_cpu_quota(root.path()) == 2.0);
}

TEST_CASE("in a container the mounted group is the process's own") {
  const TemporaryFolder root;
  root.write("proc/self/mountinfo",
             "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  root.write("proc/self/cgroup", "0::/docker/abc\n");
  root.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(cgroup_cpu_quota(root.path()) == 0.5);
}

TEST_CASE("a group outside of what is mounted is judged by the mount point") {
  const TemporaryFolder root;
  root.write("proc/self/mountinfo", "30 23 0:26 /a /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  root.write("proc/self/cgroup", "0::/b\n");
  root.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  CHECK(cgroup_cpu_quota(root.path()) == 3.0);
}

TEST_CASE("a version 1 quota is the cpu controller's") {
  const TemporaryFolder root;
  root.write("proc/self/mountinfo",
             "31 23 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  root.write("proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/app\n0::/\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us", "250000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_cpu_quota(root.path()) == 2.5);
}

}  // namespace
}  // namespace heddle::base
