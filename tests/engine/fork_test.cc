#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/forked_child.h"

// In a child of fork() every member of an engine throws ForkedChild, and leaving is clean.

namespace heddle {
namespace {

using support::kRight;
using support::kWrong;
using support::throws_forked_child;
using support::wait_until_workers_run;

/// Forks; the child leaves with kRight if `check` is true there. The child's exit code.
int in_child(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? kRight : kWrong);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST_CASE("every member of an engine throws ForkedChild in a forked child") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  wait_until_workers_run(engine);
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {x});
  const int code = in_child([&] { return support::all_throw_forked_child(engine, x); });
  CHECK(code == kRight);
  engine.wait_for_all();  // the parent's engine has noticed nothing
  CHECK(engine.version(x) == 1);
}

TEST_CASE("ForkedChild names the call that throws it") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  wait_until_workers_run(engine);
  std::optional<Completion> kept;
  engine.push_async(
      [&kept](RunContext&, Completion completion) {
        completion.done();
        kept.emplace(std::move(completion));
      },
      {}, {});
  engine.wait_for_all();
  const int code = in_child([&] {
    const auto names = [](std::string_view call, const std::function<void()>& refused) {
      try {
        refused();
      } catch (const ForkedChild& error) {
        return std::string_view(error.what()).starts_with("[" + std::string(call) + "] ");
      }
      return false;
    };
    return names("Engine::push", [&] { engine.push([] {}, {}, {}); }) &&
           names("Engine::try_push", [&] { engine.try_push([] {}, {}, {}); }) &&
           names("Engine::wait_for_all", [&] { engine.wait_for_all(); }) &&
           names("Completion::done", [&] { kept->done(); });
  });
  CHECK(code == kRight);
}

TEST_CASE("a forked child may drop variables, completions and the engine") {
  HEDDLE_FOR_EACH(options, every_engine);
  std::optional<Completion> kept;
  std::optional<Engine> engine(options);
  wait_until_workers_run(*engine);
  Var x = engine->new_variable();
  engine->push_async(
      [&kept](RunContext&, Completion completion) {
        completion.done();
        kept.emplace(std::move(completion));
      },
      {}, {x});
  engine->wait_for_all();
  engine->push([] {}, {}, {x});
  const int code = in_child([&] {
    const bool refused = throws_forked_child([&] { kept->done(); });
    kept.reset();
    x = Var();
    engine.reset();
    return refused;
  });
  CHECK(code == kRight);
  CHECK_NOTHROW(engine->wait_for_var(x));
}

TEST_CASE("a forked child may make an engine of its own without threads") {
  Engine parents;
  wait_until_workers_run(parents);
  for (const EngineKind kind : {EngineKind::kNaive, EngineKind::kExplore}) {
    const int code = in_child([kind] {
      EngineOptions options;
      options.kind = kind;
      Engine engine(options);
      const Var x = engine.new_variable();
      int value = 0;
      engine.push([&value] { value = 1; }, {}, {x});
      engine.wait_for_var(x);
      return value == 1;
    });
    CHECK(code == kRight);
  }
}

}  // namespace
}  // namespace heddle
