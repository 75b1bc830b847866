#pragma once

#include <cstddef>
#include <functional>

#include "heddle/engine.h"

#include "tests/support/gate.h"

namespace heddle::support {

/// Codes with which a test's child of fork() leaves.
inline constexpr int kRight = 7;
inline constexpr int kWrong = 8;

/// Blocks until every thread of the compute lane has run something. One that only starts may hold a
/// lock of the sanitizer's or of the loader's, for which a child of fork() would wait for ever.
inline void wait_until_workers_run(Engine& engine) {
  if (!runs_beside_pusher(engine)) return;
  const auto workers = static_cast<std::size_t>(engine.options().cpu_workers);
  Counter running;
  for (std::size_t i = 0; i < workers; ++i) {
    engine.push(
        [&running, workers] {
          running.add();
          running.wait_for(workers);
        },
        {}, {});
  }
  running.wait_for(workers);
  engine.wait_for_all();
}

/// True if `call` is refused because this process was forked.
inline bool throws_forked_child(const std::function<void()>& call) {
  try {
    call();
  } catch (const ForkedChild&) {
    return true;
  } catch (...) {
  }
  return false;
}

/// True if every member of `engine` is refused so. `x` is one of its variables.
inline bool all_throw_forked_child(Engine& engine, const Var& x) {
  const auto nothing = [] {};
  const auto asynchronous = [](RunContext& /*context*/, Completion /*completion*/) {};
  return throws_forked_child([&] { engine.push(nothing, {}, {x}); }) &&
         throws_forked_child([&] { engine.try_push(nothing, {}, {x}); }) &&
         throws_forked_child([&] { engine.push_async(asynchronous, {}, {x}); }) &&
         throws_forked_child([&] { engine.wait_for_var(x); }) &&
         throws_forked_child([&] { engine.wait_for_var_unused(x); }) &&
         throws_forked_child([&] { engine.wait_for_all(); }) &&
         throws_forked_child([&] { engine.version(x); }) &&
         throws_forked_child([&] { engine.clear_error(x); }) &&
         throws_forked_child([&] { engine.delete_variable(x); }) &&
         throws_forked_child([&] { engine.new_variable(); }) &&
         throws_forked_child([&] { engine.record(nothing); }) &&
         throws_forked_child([&] { engine.shutdown(); }) &&
         throws_forked_child([&] { engine.options(); }) &&
         throws_forked_child([&] { engine.trace(); });
}

}  // namespace heddle::support
