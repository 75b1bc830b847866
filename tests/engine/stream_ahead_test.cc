#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"

// What a stream is given ahead of older operations of its lane. This program has simulated GPUs.

namespace heddle {
namespace {

using support::HeldOperation;
using support::Log;

TEST_CASE("an operation that becomes ready goes before younger ones that its lane could have run") {
  for (const EngineKind kind : {EngineKind::kThreaded, EngineKind::kPooled}) {
    Engine engine({.kind = kind, .cpu_workers = 2});
    const PushOptions on_gpu = {.device = Device::gpu(0)};
    const Var x = engine.new_variable();
    Log<int> log;
    HeldOperation producer(engine, {}, {x});
    producer.wait_until_started();
    engine.push([&log] { log.add(0); }, {x}, {}, on_gpu);
    HeldOperation first(engine, {}, {}, on_gpu);
    for (int i = 1; i <= 10; ++i) engine.push([&log, i] { log.add(i); }, {}, {}, on_gpu);
    const Var y = engine.new_variable();
    engine.push([] {}, {x}, {y});
    first.wait_until_started();
    producer.release();
    engine.wait_for_var(y);  // then what reads x before it is ready, too
    first.release();
    engine.wait_for_all();
    CHECK(log.entries() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  }
}

TEST_CASE("small operations go on while an older one of their lane is not ready") {
  Engine engine({.cpu_workers = 2});
  const PushOptions on_gpu = {.device = Device::gpu(0)};
  const Var x = engine.new_variable();
  const Var chain = engine.new_variable();
  HeldOperation producer(engine, {}, {x});
  engine.push([] {}, {x}, {}, on_gpu);
  int ran = 0;
  for (int i = 0; i < 1000; ++i) engine.push([&ran] { ++ran; }, {}, {chain}, on_gpu);
  engine.wait_for_var(chain);
  CHECK(ran == 1000);
  producer.release();
  engine.wait_for_all();
}

}  // namespace
}  // namespace heddle
