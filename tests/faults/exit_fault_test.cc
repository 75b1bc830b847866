#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/runs.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/watchdog.h"

// Processes that end while operations are in flight and others are being pushed: at once, or within
// the 2 s that Engine::get() grants, and as if there were no engine.

namespace heddle::faults {
namespace {

using Clock = std::chrono::steady_clock;

/// A hang is a process that has not ended by then.
constexpr std::chrono::seconds kLimit(50);

struct Way {
  std::string name;
  int code = 0;    ///< that the process exits with, or
  int signal = 0;  ///< by which it ends
  /// An exit waits for the operation that called it: the 2 s pass.
  bool takes_2_s = false;
};

class Process {
 public:
  Process(const Way& way, std::uint64_t seed, const std::string& output)
      : output_(output), seed_(seed) {
    const std::string number = std::to_string(seed);
    const char* const arguments[] = {HEDDLE_EXIT_FAULT_PROGRAM, way.name.c_str(),
                                     seed % 2 == 0 ? "threaded" : "pooled", number.c_str(),
                                     nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int error = posix_spawn(&pid_, arguments[0], &files, nullptr,
                                  const_cast<char* const*>(arguments), environ);
    posix_spawn_file_actions_destroy(&files);
    REQUIRE(error == 0);
  }

  bool has_ended() {
    if (waitpid(pid_, &status_, WNOHANG) == pid_) return true;
    if (Clock::now() < start_ + kLimit) return false;
    kill(pid_, SIGKILL);  // it hangs
    waitpid(pid_, &status_, 0);
    return true;
  }
  std::chrono::milliseconds age() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
  }
  /// Checks how it has ended.
  void check(const Way& way) const {
    std::ifstream file(output_);
    const std::string printed{std::istreambuf_iterator<char>(file), {}};
    INFO(way.name << ", seed " << seed_ << ", printed: " << printed);
    if (way.signal != 0) {
      REQUIRE(WIFSIGNALED(status_));
      CHECK(WTERMSIG(status_) == way.signal);
    } else {
      REQUIRE(WIFEXITED(status_));
      CHECK(WEXITSTATUS(status_) == way.code);
    }
    const std::string expected = way.signal == SIGABRT ? "terminate called" : "";
    CHECK(printed.substr(0, expected.size()) == expected);
    if (expected.empty()) CHECK(printed.empty());
    CHECK(printed.find("Sanitizer") == std::string::npos);
  }

 private:
  std::string output_;
  std::uint64_t seed_;
  Clock::time_point start_ = Clock::now();
  pid_t pid_ = 0;
  int status_ = 0;
};

void run_processes(const Way& way, int count) {
  const std::size_t at_once = way.takes_2_s ? 20 : 2;
  const support::TemporaryFolder folder;
  Tally tally("8 processes that end by " + way.name);
  std::vector<Process> running;
  int started = 0;
  std::chrono::milliseconds longest(0);
  while (started < count || !running.empty()) {
    while (started < count && running.size() < at_once) {
      ++started;
      running.emplace_back(way, static_cast<std::uint64_t>(started),
                           folder.path(std::to_string(started)));
    }
    for (auto process = running.begin(); process != running.end();) {
      if (!process->has_ended()) {
        ++process;
        continue;
      }
      process->check(way);
      longest = std::max(longest, process->age());
      support::watchdog::progress();
      tally.add_run();
      process = running.erase(process);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  tally.add("ms at most", static_cast<std::uint64_t>(longest.count()));
}

std::vector<Way> ways() {
  std::vector<Way> ways = {
      {.name = "return", .code = 20},
      {.name = "exit", .code = 21},
      {.name = "exit elsewhere", .code = 22},
      {.name = "exit inside", .code = 23, .takes_2_s = true},
      {.name = "quick_exit", .code = 24},
      {.name = "quick_exit inside", .code = 25},
      {.name = "_exit", .code = 26},
      {.name = "own engine", .code = 27},
      {.name = "SIGTERM", .signal = SIGTERM},
      {.name = "SIGTERM inside", .signal = SIGTERM},
      {.name = "throw", .signal = SIGABRT},
      {.name = "throw elsewhere", .signal = SIGABRT},
      {.name = "terminate inside", .signal = SIGABRT},
      {.name = "noexcept inside", .signal = SIGABRT},
  };
#if !defined(HEDDLE_SANITIZED)  // whose locks may be held in the child for ever
  ways.push_back({.name = "fork", .code = 28});
#endif
  return ways;
}

TEST_CASE("a process with work in flight ends as it was told to and prints nothing of its own") {
  const Way way = GENERATE(from_range(ways()));
  run_processes(way, runs(way.takes_2_s ? 20 : 40));
}

}  // namespace
}  // namespace heddle::faults
