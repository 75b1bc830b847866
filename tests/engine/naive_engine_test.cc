#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"

// What only kNaive promises: push is the serial program itself.

namespace heddle {
namespace {

using support::ForeignThread;
using support::Log;

EngineOptions naive() {
  EngineOptions options;
  options.kind = EngineKind::kNaive;
  return options;
}

TEST_CASE("the naive engine runs an operation before push returns, on the pushing thread") {
  Engine engine(naive());
  const Var x = engine.new_variable();
  std::thread::id ran_on;
  engine.push([&ran_on] { ran_on = std::this_thread::get_id(); }, {}, {x});
  CHECK(ran_on == std::this_thread::get_id());
  CHECK(engine.version(x) == 1);
}

TEST_CASE("the naive engine's push does not throw the operation's error") {
  Engine engine(naive());
  const Var x = engine.new_variable();
  CHECK_NOTHROW(engine.push([] { throw 1; }, {}, {x}));
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
}

TEST_CASE("an operation pushed inside another runs when the outer callable has returned") {
  Engine engine(naive());
  std::vector<std::string> log;
  engine.push(
      [&] {
        engine.push(
            [&] {
              log.emplace_back("child");
              engine.push([&log] { log.emplace_back("grandchild"); }, {}, {});
            },
            {}, {});
        engine.push([&log] { log.emplace_back("second child"); }, {}, {});
        log.emplace_back("parent");
      },
      {}, {});
  CHECK(log == std::vector<std::string>{"parent", "child", "second child", "grandchild"});
}

TEST_CASE("an operation pushed inside another runs before push_async waits for completion") {
  ForeignThread foreign;
  Engine engine(naive());
  const Var x = engine.new_variable();
  support::Gate child_ran;
  engine.push_async(
      [&](RunContext&, Completion completion) {
        engine.push([&child_ran] { child_ran.open(); }, {}, {});
        foreign.post([&child_ran, completion = std::move(completion)]() mutable {
          child_ran.wait();  // would hang if the child waited for this completion
          completion.done();
        });
      },
      {}, {x});
  CHECK(child_ran.is_open());
  CHECK(engine.version(x) == 1);
}

TEST_CASE("a child that conflicts with its asynchronous parent waits for the completion") {
  ForeignThread foreign;
  Engine engine(naive());
  const Var x = engine.new_variable();
  Log<std::string> log;
  engine.push_async(
      [&](RunContext&, Completion completion) {
        engine.push([&log] { log.add("child"); }, {x}, {});
        foreign.post([&log, completion = std::move(completion)]() mutable {
          log.add("parent");
          completion.done();
        });
      },
      {}, {x});
  engine.wait_for_all();
  CHECK(log.entries() == std::vector<std::string>{"parent", "child"});
}

TEST_CASE("threads take turns on the naive engine") {
  Engine engine(naive());
  const Var x = engine.new_variable();
  int value = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) engine.push([&value] { ++value; }, {}, {x});
      });
    }
  }
  CHECK(value == 2000);
  CHECK(engine.version(x) == 2000);
}

}  // namespace
}  // namespace heddle
