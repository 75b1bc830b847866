#include "engine/batch.h"

#include <array>
#include <cstdint>
#include <memory>

#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

struct Node : detail::ReadyNode {
  Plain<int> written{0};
  Plain<bool> taken{false};
};

/// A worker that takes two batches along, of which it runs some and gives the rest back, beside a
/// thread that steals and one that looks for what has become urgent. The first batch is full: who
/// steals looks through all places, and finds something soon only then.
struct Sharing : rl::test_suite<Sharing, 3> {
  static constexpr unsigned kFull = detail::Batch::kMost;
  static constexpr unsigned kNodes = kFull + 2;

  struct State {
    detail::Batch batch;
    std::array<Node, kNodes> nodes;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void before() {
    for (unsigned i = 0; i != kNodes; ++i) state->nodes[i].sequence = i;
  }

  void thread(unsigned index) {
    if (index == 0) return work();
    if (index == 1) return steal();
    for (const unsigned urgent : {kFull / 2, 0U, kFull + 1}) {
      if (state->batch.remove(state->nodes[urgent])) take(state->nodes[urgent]);
    }
  }
  void after() {
    check(!state->batch.has_some(), "something is left");
    for (const Node& node : state->nodes) check(node.taken, "lost");
  }

  void work() {
    take_along(0, kFull);
    run_some(8);
    give_back();
    take_along(kFull, kNodes);
    run_some(kNodes);
    give_back();
  }
  void take_along(unsigned first, unsigned end) {
    state->batch.begin();
    for (unsigned i = first; i != end; ++i) {
      state->nodes[i].written = 1;
      state->batch.add(detail::ReadyPlace::of(state->nodes[i]));
    }
  }
  void run_some(unsigned most) {
    detail::Batch& batch = state->batch;
    std::uint64_t next = 0;
    for (unsigned i = 0; i != most && batch.drop_stolen(); ++i) {
      check(batch.first().sequence >= next, "not in the order in which they were added");
      next = batch.first().sequence + 1;
      if (detail::ReadyNode* const node = batch.pop()) take(*node);
    }
  }
  void give_back() {
    state->batch.give_back([this](const detail::ReadyPlace& place) { take(*place.node); });
    check(state->batch.empty(), "not empty when all are given back");
  }
  void steal() {
    for (int i = 0; i != 4; ++i) {
      if (!state->batch.has_some()) continue;
      if (detail::ReadyNode* const node = state->batch.steal()) take(*node);
    }
  }
  void take(detail::ReadyNode& node) {
    auto& taken = static_cast<Node&>(node);
    check(taken.written == 1, "not all that the worker wrote is there");
    check(!taken.taken, "taken twice");
    taken.taken = true;
  }
};

}  // namespace

TEST_CASE("batch: each node is taken once, with what the worker wrote, whoever takes it") {
  require_holds<Sharing>(50'000);
}

TEST_CASE("batch: every weaker order is found") {
  require_weaker_found<Sharing>(
      "engine/batch.h", 10'000,
      {
          // The worker takes back what it has added itself, and who leaves null in a place tells it
          // nothing more: these are stronger than a batch needs.
          "drop_stolen: load seq_cst -> acquire",
          "drop_stolen: load seq_cst -> relaxed",
          "pop: update seq_cst -> acq_rel",
          "pop: update seq_cst -> acquire",
          "pop: update seq_cst -> release",
          "pop: update seq_cst -> relaxed",
          "give_back: update seq_cst -> acq_rel",
          "give_back: update seq_cst -> acquire",
          "give_back: update seq_cst -> release",
          "give_back: update seq_cst -> relaxed",
          // It must see what the worker wrote, and no more.
          "remove: update seq_cst -> acq_rel",
          "remove: update seq_cst -> acquire",
      });
}

}  // namespace heddle::relacy
