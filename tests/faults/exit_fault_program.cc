// Ends in the way that its first argument names, with work of an engine of the kind that its second
// one names in flight; the third is a seed. exit_fault_test.cc checks how it ends.

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/engine.h"

#include "tests/faults/load.h"
#include "tests/faults/runs.h"

namespace {

using heddle::Engine;
using heddle::faults::Load;
using heddle::faults::Random;

constexpr int kNever = 99;

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

/// Runs `end` in an operation; it does not return.
[[noreturn]] void in_operation(void (*end)()) {
  Engine::get().push([end] { end(); }, {}, {}, {.lane = heddle::Lane::kComm});
  sleep_for_ever();
}

void throw_where_none_may() noexcept { static_cast<void>(std::string().at(1)); }

int leave() { return 20; }
int call_exit() { std::exit(21); }
int exit_elsewhere() {
  std::thread([] { std::exit(22); }).detach();
  sleep_for_ever();
}
int exit_inside() {
  in_operation([] { std::exit(23); });
}
int call_quick_exit() { std::quick_exit(24); }
int quick_exit_inside() {
  in_operation([] { std::quick_exit(25); });
}
int call__exit() { _exit(26); }
int terminate_signal() {
  kill(getpid(), SIGTERM);
  sleep_for_ever();
}
int terminate_signal_inside() {
  in_operation([] {
    kill(getpid(), SIGTERM);
    sleep_for_ever();
  });
}
int throw_out_of_main() { throw std::runtime_error("not caught"); }
int throw_out_of_thread() {
  std::thread([] { throw std::runtime_error("not caught"); }).detach();
  sleep_for_ever();
}
int terminate_inside() {
  in_operation([] { std::terminate(); });
}
int throw_through_noexcept() { in_operation(throw_where_none_may); }
int leave_own_engine() {
  static Engine engine;
  static Load load(engine);
  Random random(1);
  for (int i = 0; i < 300; ++i) load.step(random);
  return 27;
}
/// The child leaves; this process ends as it did.
int exit_in_forked_child() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(50);  // a hang is a signal
    std::exit(28);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return kNever;
  return WEXITSTATUS(status);
}

/// Two threads that push a random number of operations each; what they use is never destroyed.
void start_pushers(std::uint64_t seed) {
  auto& load = *new Load(Engine::get());
  static const Load* const reachable = &load;  // for leak checkers
  static_cast<void>(reachable);
  for (std::uint64_t thread = 1; thread <= 2; ++thread) {
    std::thread([&load, seed, thread] {
      Random random(seed * 2 + thread);
      const int steps = random.below(1000);
      for (int i = 0; i < steps; ++i) load.step(random);
      sleep_for_ever();
    }).detach();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)()> ways = {
      {"return", leave},
      {"exit", call_exit},
      {"exit elsewhere", exit_elsewhere},
      {"exit inside", exit_inside},
      {"quick_exit", call_quick_exit},
      {"quick_exit inside", quick_exit_inside},
      {"_exit", call__exit},
      {"SIGTERM", terminate_signal},
      {"SIGTERM inside", terminate_signal_inside},
      {"throw", throw_out_of_main},
      {"throw elsewhere", throw_out_of_thread},
      {"terminate inside", terminate_inside},
      {"noexcept inside", throw_through_noexcept},
      {"own engine", leave_own_engine},
      {"fork", exit_in_forked_child},
  };
  if (argc != 4 || ways.count(argv[1]) == 0) return 2;
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const std::uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  heddle::RuntimeOptions options;
  const bool pooled = std::string(argv[2]) == "pooled";
  options.engine.kind = pooled ? heddle::EngineKind::kPooled : heddle::EngineKind::kThreaded;
  heddle::configure(options);
  start_pushers(seed);
  std::this_thread::sleep_for(Random(seed).pause(3000));
  return ways.at(argv[1])();
}
