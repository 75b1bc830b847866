#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/scale.h"
#include "tests/support/watchdog.h"

// Any number of engines per process, one after another and side by side.

namespace heddle {
namespace {

using support::Counter;
using support::limited;

TEST_CASE("engines start and stop a thousand times with none to three operations") {
  HEDDLE_FOR_EACH(options, every_engine);
  constexpr int kCycles = 1000 / support::kScale;
  std::atomic<int> ran{0};
  int pushed = 0;
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    support::watchdog::progress();
    Engine engine(options);
    const Var x = engine.new_variable();
    for (int i = 0; i < cycle % 4; ++i, ++pushed) engine.push([&ran] { ++ran; }, {}, {x});
    if (cycle % 3 == 0) engine.wait_for_all();
    if (cycle % 5 == 0) engine.shutdown();
  }
  CHECK(ran == pushed);
}

TEST_CASE("engines of different kinds work side by side") {
  std::vector<std::unique_ptr<Engine>> engines;
  for (const EngineOptions& options : support::every_engine()) {
    engines.push_back(std::make_unique<Engine>(options));
  }
  std::vector<int> values(engines.size());
  std::vector<Var> vars;
  for (const auto& engine : engines) vars.push_back(engine->new_variable());
  for (int i = 0; i < 100; ++i) {
    for (std::size_t e = 0; e < engines.size(); ++e) {
      CHECK(engines[e]->push([&value = values[e]] { ++value; }, {}, {vars[e]}) ==
            static_cast<std::uint64_t>(i + 1));
    }
  }
  for (const auto& engine : engines) engine->wait_for_all();
  CHECK(values == std::vector<int>(engines.size(), 100));
}

TEST_CASE("an operation of one engine may push to another") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine other(options);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var theirs = other.new_variable();
  int value = 0;
  for (int i = 0; i < 100; ++i) {
    engine.push([&] { other.push([&value] { ++value; }, {}, {theirs}); }, {}, {x});
  }
  engine.wait_for_all();
  other.wait_for_all();
  CHECK(value == 100);
}

TEST_CASE("threads may make and use engines of their own at the same time") {
  HEDDLE_FOR_EACH(options, every_engine);
  std::atomic<int> ran{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&options, &ran] {
        for (int cycle = 0; cycle < 10; ++cycle) {
          Engine engine(options);
          const Var x = engine.new_variable();
          for (int i = 0; i < 10; ++i) engine.push([&ran] { ++ran; }, {}, {x});
        }
      });
    }
  }
  CHECK(ran == 400);
}

/// Calls something when its thread ends.
struct AtThreadEnd {
  std::function<void()> call;
  ~AtThreadEnd() {
    if (call) call();
  }
};
thread_local AtThreadEnd t_at_end;

TEST_CASE("an engine that ends refuses what a thread_local object of its threads pushes then") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  std::optional<Engine> engine(std::in_place, options);
  const Var x = engine->new_variable();
  std::atomic<bool> is_refused{false};
  std::atomic<bool> last_ran{false};
  const auto at_end = [&, used = &*engine] {
    used->delete_variable(x, [&last_ran] { last_ran = true; });
    try {
      used->push([] {}, {}, {});
    } catch (const EngineStopped&) {
      is_refused = true;
    }
  };
  engine->push([&at_end] { t_at_end.call = at_end; }, {}, {}, {.lane = Lane::kBlocking});
  engine.reset();
  CHECK(is_refused);
  CHECK(last_ran);
}

TEST_CASE("the default engine is one for the process") {
  Engine& engine = Engine::get();
  CHECK(&engine == &Engine::get());
  const Var x = engine.new_variable();
  Counter ran;
  engine.push([&ran] { ran.add(); }, {}, {x});
  engine.wait_for_var(x);
  CHECK(ran.value() == 1);
}

TEST_CASE("configure after the first use of the default engine is an error") {
  static_cast<void>(Engine::get());
  CHECK_THROWS_AS(configure(RuntimeOptions()), Error);
}

TEST_CASE("an engine's own options are those it was made with") {
  HEDDLE_FOR_EACH(options, every_engine);
  const Engine engine(limited(options, 7));
  CHECK(engine.options().kind == options.kind);
  CHECK(engine.options().max_pending == 7);
}

TEST_CASE("the number of workers is resolved") {
  EngineOptions options;
  const Engine engine(options);
  CHECK(engine.options().cpu_workers >= 1);
}

}  // namespace
}  // namespace heddle
