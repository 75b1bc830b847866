#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/crowd.h"
#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/scale.h"

// Computing on the CPU and on simulated GPUs is done by the same workers. This program has two
// simulated GPUs.

namespace heddle {
namespace {

using support::Counter;
using support::Crowd;

constexpr int kOperations = 3000 / support::kScale;

/// Operations in the compute lanes of all devices, of which every third takes so long that others
/// begin meanwhile if they can.
void push_crowd(Engine& engine, Crowd& crowd) {
  const Device devices[] = {Device::cpu(), Device::gpu(0), Device::gpu(1)};
  for (int i = 0; i < kOperations; ++i) {
    engine.push(
        [&crowd, i] {
          crowd.enter();
          for (int turn = i % 3 == 0 ? 3 : 0; turn > 0; --turn) std::this_thread::yield();
          crowd.leave();
        },
        {}, {}, {.device = devices[i / 2 % 3]});
  }
}

TEST_CASE("no more operations compute at a time than there are workers, wherever they compute") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  Crowd crowd;
  push_crowd(engine, crowd);
  engine.wait_for_all();  // the thread that waits may stand in for a worker
  CHECK(crowd.most() <= options.cpu_workers);
}

TEST_CASE("pushers and waiters add nobody to those that compute") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  Crowd crowd;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        const Var x = engine.new_variable();
        for (int i = 0; i < kOperations / 30; ++i) {
          engine.push(
              [&crowd] {
                crowd.enter();
                std::this_thread::yield();
                crowd.leave();
              },
              {}, {x}, {.device = i % 2 == 0 ? Device::cpu() : Device::gpu(i / 2 % 2)});
          if (i % 10 == 0) engine.wait_for_var(x);
        }
      });
    }
  }
  engine.wait_for_all();
  CHECK(crowd.most() <= options.cpu_workers);
}

TEST_CASE("every worker may compute for a simulated GPU or for the CPU at the same time") {
  HEDDLE_FOR_EACH(configuration, parallel_engines);
  EngineOptions options = configuration;
  options.cpu_workers = 3;
  Engine engine(options);
  Counter inside;
  for (const Device device : {Device::cpu(), Device::gpu(0), Device::gpu(1)}) {
    engine.push(
        [&inside] {
          inside.add();
          inside.wait_for(3);
        },
        {}, {}, {.device = device});
  }
  engine.wait_for_all();
  CHECK(inside.value() == 3);
}

}  // namespace
}  // namespace heddle
