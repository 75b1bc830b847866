#include "heddle/recording.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"

// What Engine::record() captures, keeps and refuses. What runs do: recording_run_test.cc.

namespace heddle {
namespace {

using support::Counter;
using support::Gate;

/// The text of the E that `call` throws.
template <class E, class Call>
std::string text_of(Call call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  } catch (...) {
    return "something else was thrown";
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("what is pushed while a thread records returns 0 and does not run") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int runs = 0;
  std::vector<std::uint64_t> returned;
  const Recording recording = engine.record([&] {
    returned.push_back(engine.push([&runs] { ++runs; }, {}, {x}));
    returned.push_back(engine.push_async(
        [&runs](RunContext&, Completion completion) {
          ++runs;
          completion.done();
        },
        {}, {x}));
    engine.clear_error(x);
  });
  engine.wait_for_all();
  CHECK(returned == std::vector<std::uint64_t>{0, 0});
  CHECK(runs == 0);
  CHECK(recording.size() == 3);
  CHECK(engine.version(x) == 0);
}

TEST_CASE("recording takes no sequence number") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  {
    const Recording recording = engine.record([&] { engine.push([] {}, {}, {x}); });
    CHECK(engine.push([] {}, {}, {x}) == 1);
    CHECK(recording.run() == 2);
    CHECK(engine.push([] {}, {}, {x}) == 3);
  }
  CHECK(engine.push([] {}, {}, {x}) == 4);
}

TEST_CASE("an exception of the script leaves record, and nothing is recorded") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto captured = std::make_shared<int>(0);
  const std::string text = text_of<std::domain_error>([&] {
    engine.record([&] {
      engine.push([captured] { ++*captured; }, {}, {x});
      throw std::domain_error("the script failed");
    });
  });
  CHECK(text == "the script failed");
  CHECK(captured.use_count() == 1);
  CHECK(engine.push([captured] { ++*captured; }, {}, {x}) == 1);
  engine.wait_for_var(x);
  CHECK(*captured == 1);
}

TEST_CASE("what blocks or deletes is refused by name while a thread records") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable("x");
  const Recording other = engine.record([] {});
  const Recording recording = engine.record([&] {
    const auto refused = [&](const std::string& name, auto call) {
      CAPTURE(name);
      CHECK(contains(text_of<Error>(call), "[" + name + "] called while this thread records"));
    };
    refused("Engine::wait_for_var", [&] { engine.wait_for_var(x); });
    refused("Engine::wait_for_var_unused", [&] { engine.wait_for_var_unused(x); });
    refused("Engine::wait_for_all", [&] { engine.wait_for_all(); });
    refused("Engine::try_push", [&] { engine.try_push([] {}, {}, {x}); });
    refused("Engine::delete_variable", [&] { engine.delete_variable(x); });
    refused("Engine::record", [&] { engine.record([] {}); });
    refused("Engine::shutdown", [&] { engine.shutdown(); });
    refused("Recording::run", [&] { other.run(); });
    CHECK(contains(text_of<Error>([&] { engine.wait_for_var(x); }), "variable 'x'"));
    engine.push([] {}, {}, {x});
  });
  CHECK(recording.size() == 1);
  CHECK(engine.try_push([] {}, {}, {x}) == 1U);
  engine.wait_for_var(x);
  engine.delete_variable(x);
}

TEST_CASE("a wrong argument is refused by the push that is recorded") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Engine stranger(options);
  const Var x = engine.new_variable("x");
  const Var foreign = stranger.new_variable("foreign");
  const Var deleted = engine.new_variable("deleted");
  engine.delete_variable(deleted);
  const auto refusal = [&](auto push) {
    return text_of<std::invalid_argument>([&] { engine.record(push); });
  };
  CHECK(contains(refusal([&] { engine.push([] {}, {}, {foreign}); }), "'foreign'"));
  CHECK(contains(refusal([&] { engine.push([] {}, {deleted}, {x}); }), "'deleted'"));
  CHECK(contains(refusal([&] { engine.push([] {}, {}, {Var{}}); }), "empty variable"));
  CHECK(contains(refusal([&] { engine.clear_error(deleted); }), "'deleted'"));
  void (*const null)() = nullptr;
  CHECK(contains(refusal([&] { engine.push(null, {}, {x}); }), "[Engine::push] null callable"));
  CHECK(contains(refusal([&] { engine.push([] {}, {}, {x}, {.lane = static_cast<Lane>(9)}); }),
                 "lane is 9"));
  const Recording recording = engine.record([&] { engine.push([] {}, {}, {x}); });
  recording.run();
  engine.wait_for_all();
  CHECK(engine.version(x) == 1);
}

TEST_CASE("a push that is refused while a thread records leaves the rest of the script recorded") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int sum = 0;
  const Recording recording = engine.record([&] {
    engine.push([&sum] { sum += 1; }, {}, {x});
    CHECK_THROWS_AS(engine.push([&sum] { sum += 10; }, {}, {x, Var{}}), std::invalid_argument);
    engine.push([&sum] { sum += 100; }, {}, {x});
  });
  recording.run();
  engine.wait_for_var(x);
  CHECK(sum == 101);
}

TEST_CASE("a null script is refused") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  CHECK(contains(text_of<std::invalid_argument>([&] { engine.record({}); }),
                 "[Engine::record] null callable"));
  CHECK(engine.push([] {}, {}, {}) == 1);
}

TEST_CASE("what other threads push while one records is not captured") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  int runs = 0;
  const Recording recording = engine.record(
      [&] { std::jthread([&] { CHECK(engine.push([&runs] { ++runs; }, {}, {x}) == 1); }).join(); });
  engine.wait_for_all();
  CHECK(runs == 1);
  CHECK(recording.size() == 0);
}

TEST_CASE("what operations of another engine push while a thread records is not captured") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Engine inside({.kind = EngineKind::kNaive});  // runs its operations on this thread
  const Var x = engine.new_variable();
  Counter runs;
  const Recording recording = engine.record(
      [&] { inside.push([&] { engine.push([&runs] { runs.add(); }, {}, {x}); }, {}, {}); });
  engine.wait_for_all();
  CHECK(runs.value() == 1);
  CHECK(recording.size() == 0);
}

TEST_CASE("a thread can record for two engines at a time") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine outer(options);
  Engine inner(options);
  Recording of_inner;
  const Recording of_outer = outer.record([&] {
    outer.push([] {}, {}, {});
    of_inner = inner.record([&] {
      outer.push([] {}, {}, {});
      inner.push([] {}, {}, {});
    });
    outer.push([] {}, {}, {});
    CHECK(inner.push([] {}, {}, {}) == 1);
  });
  CHECK(of_outer.size() == 3);
  CHECK(of_inner.size() == 1);
}

TEST_CASE("an operation can record and run") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int runs = 0;
  engine.push(
      [&] {
        const Recording recording = engine.record([&] {
          for (int i = 0; i < 10; ++i) engine.push([&runs] { ++runs; }, {}, {x});
        });
        recording.run();
        recording.run();
      },
      {}, {});
  engine.wait_for_all();
  CHECK(runs == 20);
}

TEST_CASE("names are copied when they are recorded") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const std::string long_name(100, 'n');
  const std::string expected = GENERATE_COPY(std::string("short"), long_name);
  auto name = std::make_unique<std::string>(expected);
  const Recording recording = engine.record([&] {
    engine.push([] { throw 1; }, {}, {x}, {.name = *name});
    for (int i = 0; i < 100; ++i) engine.push([] {}, {}, {x});
  });
  name.reset();
  recording.run();
  try {
    engine.wait_for_var(x);
    FAIL("nothing was thrown");
  } catch (const OpError& error) {
    CHECK(error.op_name() == expected);
  }
}

TEST_CASE("a recording keeps the variables that it names") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  int runs = 0;
  const Recording recording = engine.record([&] {
    const Var temporary = engine.new_variable();
    engine.push([&runs] { ++runs; }, {}, {temporary});
    engine.push([&runs] { ++runs; }, {}, {temporary});
  });
  for (int i = 0; i < 3; ++i) recording.run();
  engine.wait_for_all();
  CHECK(runs == 6);
}

TEST_CASE("callables live as long as their recording") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const auto captured = std::make_shared<int>(0);
  {
    const Recording recording = engine.record([&] {
      engine.push([captured] {}, {}, {});
      engine.push_async([captured](RunContext&, Completion done) { done.done(); }, {}, {});
    });
    recording.run();
    engine.wait_for_all();
    CHECK(captured.use_count() == 3);
  }
  CHECK(captured.use_count() == 1);
}

TEST_CASE("callables live until the last run has ended") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const auto captured = std::make_shared<Counter>();
  {
    const Recording recording = engine.record([&] {
      for (int i = 0; i < 50; ++i) {
        engine.push([captured] { captured->add(); }, {}, {x});
        engine.push([captured] { captured->add(); }, {x}, {});
        engine.push([captured] { captured->add(); }, {x}, {y});
      }
      engine.clear_error(x);
    });
    recording.run();
    recording.run();
  }
  engine.wait_for_all();
  CHECK(captured->value() == 300);
  CHECK(captured.use_count() == 1);
}

TEST_CASE("what the destructor of a recorded callable throws is reported") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  struct Throws {
    explicit Throws(bool is_armed) : armed(is_armed) {}
    Throws(Throws&& other) noexcept : armed(std::exchange(other.armed, false)) {}
    ~Throws() noexcept(false) {
      if (armed) throw Error("thrown by a destructor");
    }
    void operator()() const {}
    bool armed;
  };
  {
    const Recording recording =
        engine.record([&] { engine.push(Throws(true), {}, {}, {.name = "thrower"}); });
    recording.run();
  }
  try {
    engine.wait_for_all();
    FAIL("nothing was thrown");
  } catch (const AggregateError& error) {
    REQUIRE(error.errors().size() == 1);
    CHECK(error.errors()[0].op_name() == "thrower");
    CHECK(contains(error.errors()[0].what(), "thrown by a destructor"));
  }
}

TEST_CASE("what the destructor of a recorded callable throws lives as long as its report") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  struct Counted {
    std::shared_ptr<int> count;
  };
  struct Throws {
    explicit Throws(std::shared_ptr<int> thrown) : count(std::move(thrown)) {}
    Throws(Throws&& other) noexcept = default;
    ~Throws() noexcept(false) {
      if (count != nullptr) throw Counted{std::move(count)};
    }
    void operator()() const {}
    std::shared_ptr<int> count;
  };
  const auto count = std::make_shared<int>();
  {
    const Recording recording = engine.record([&] { engine.push(Throws(count), {}, {}); });
    recording.run();
    engine.wait_for_all();
  }
  CHECK(count.use_count() == 2);
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  CHECK(count.use_count() == 1);
}

}  // namespace
}  // namespace heddle
