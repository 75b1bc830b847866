// Leaves main in the way that its first argument names, with work of the default engine in flight.
// exit_test.cmake checks the exit code, the time and what is printed.

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "heddle/engine.h"
#include "heddle/ndarray.h"
#include "heddle/options.h"

#include "tests/support/gate.h"

namespace {

using heddle::Completion;
using heddle::Device;
using heddle::Engine;
using heddle::RunContext;
using heddle::Var;

constexpr int kOperations = 200;
constexpr int kNotDrained = 99;

// Constructed before the engine, destroyed after its exit handler.
std::atomic<int> g_ran{0};
bool g_must_drain = false;
Var g_var;  // handles that outlive main
Var g_done;
std::optional<Completion> g_completion;                       // an operation that never ends
heddle::support::Gate& g_never = *new heddle::support::Gate;  // waited for until the very end

void check_drained() {
  if (g_must_drain && g_ran != kOperations) std::_Exit(kNotDrained);
}

void push_pending() {
  std::atexit(check_drained);  // runs after the handlers that are registered later
  Engine& engine = Engine::get();
  g_must_drain = true;
  g_var = engine.new_variable();
  for (int i = 0; i < kOperations; ++i) {
    engine.push(
        [] {
          for (volatile int spin = 0; spin < 20000;) spin = spin + 1;
          ++g_ran;
        },
        {}, {g_var});
  }
}

int leave_idle() {
  Engine::get().push([] {}, {}, {});
  Engine::get().wait_for_all();
  return 3;
}

int leave_with_pending() {
  push_pending();
  return 4;
}

int call_exit() {
  push_pending();
  std::exit(5);
}

int leave_with_errors() {
  Engine& engine = Engine::get();
  g_var = engine.new_variable();
  for (int i = 0; i < 2000; ++i) engine.push([] { throw 1; }, {}, {g_var}, {.overwrites = true});
  return 6;
}

int leave_with_a_stuck_operation() {
  Engine& engine = Engine::get();
  g_var = engine.new_variable();
  engine.push([] { g_never.wait(); }, {}, {g_var});
  engine.push([] { std::_Exit(kNotDrained); }, {}, {g_var});
  return 7;
}

/// What a static destructor might do, when the engine has given up the stuck operation.
void use_the_engine_later() {
  const auto is_refused = [](auto&& use) {
    try {
      use();
    } catch (const heddle::EngineStopped&) {
      return true;
    }
    return false;
  };
  Engine& engine = Engine::get();
  const bool waits = !is_refused([&engine] { engine.wait_for_var(g_var); });
  const bool blocks = !is_refused([&engine] {
    for (int i = 0; i < kOperations; ++i) engine.push([] {}, {}, {g_var});
  });
  engine.wait_for_var(g_done);
  if (waits || blocks) std::_Exit(kNotDrained);
}

int leave_with_a_stuck_operation_and_use_the_engine_later() {
  heddle::RuntimeOptions options;
  options.engine.max_pending = kOperations / 2;
  heddle::configure(options);
  std::atexit(use_the_engine_later);
  g_done = Engine::get().new_variable();
  Engine::get().push([] {}, {}, {g_done});
  Engine::get().wait_for_var(g_done);
  leave_with_a_stuck_operation();
  return 14;
}

int leave_with_a_kept_completion() {
  heddle::support::Gate stored;
  Engine::get().push_async(
      [&stored](RunContext&, Completion completion) {
        g_completion.emplace(std::move(completion));
        stored.open();
      },
      {}, {});
  stored.wait();
  return 8;
}

int leave_while_another_thread_pushes() {
  std::thread([] {
    try {
      for (;;) Engine::get().push([] {}, {}, {});
    } catch (const heddle::EngineStopped&) {
      g_never.wait();  // the thread ends with the process
    }
  }).detach();
  Engine::get().push([] {}, {}, {});
  return 9;
}

int leave_with_operations_that_push() {
  struct Again {
    void operator()() const { Engine::get().push(Again(), {}, {}); }
  };
  Engine::get().push(Again(), {}, {});
  return 10;
}

int leave_a_static_engine() {
  static Engine engine;
  static const Var var = engine.new_variable();
  for (int i = 0; i < kOperations; ++i) engine.push([] { ++g_ran; }, {}, {var});
  return 11;
}

int exit_inside_an_operation() {
  Engine::get().push([] { std::exit(12); }, {}, {});
  Engine::get().wait_for_all();
  return kNotDrained;
}

/// The callable holds the last pointer to its engine.
int end_an_engine_in_its_operation() {
  auto engine = std::make_shared<Engine>(
      heddle::EngineOptions{.kind = Engine::get().options().kind, .max_pending = 1});
  Engine& same = *engine;
  same.push([engine = std::move(engine)]() mutable { engine.reset(); }, {}, {}, {.name = "owner"});
  same.push([] {}, {}, {});  // blocks, or runs the other one first
  return kNotDrained;
}

/// Arrays and operations of a GPU that is lost half way, some of them asynchronous.
int leave_with_a_lost_gpu() {
  heddle::RuntimeOptions options;
  options.gpus = "sim:1,sim:1?lost_after=100&jitter=20us";
  heddle::configure(options);
  Engine& engine = Engine::get();
  static heddle::NDArray kept = heddle::NDArray::ones({100}, Device::gpu(1));
  g_var = engine.new_variable();
  for (int i = 0; i < kOperations; ++i) {
    kept += kept.to(Device::gpu(0)).to(Device::gpu(1));
    engine.push_async([](RunContext&, Completion completion) { completion.done(); }, {}, {g_var},
                      {.device = Device::gpu(1), .overwrites = true});
  }
  return 13;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)()> ways = {
      {"idle", leave_idle},
      {"pending", leave_with_pending},
      {"exit", call_exit},
      {"errors", leave_with_errors},
      {"stuck", leave_with_a_stuck_operation},
      {"stuck_later", leave_with_a_stuck_operation_and_use_the_engine_later},
      {"completion", leave_with_a_kept_completion},
      {"pusher", leave_while_another_thread_pushes},
      {"endless", leave_with_operations_that_push},
      {"static", leave_a_static_engine},
      {"inside", exit_inside_an_operation},
      {"lost", leave_with_a_lost_gpu},
      {"own_end", end_an_engine_in_its_operation},
  };
  const auto way = argc == 2 ? ways.find(argv[1]) : ways.end();
  if (way == ways.end()) {
    std::cerr << "expected one of:";
    for (const auto& [name, leave] : ways) std::cerr << ' ' << name;
    std::cerr << '\n';
    return 2;
  }
  return way->second();
}
