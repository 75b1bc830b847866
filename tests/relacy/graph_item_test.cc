#include "engine/graph_item.h"

#include <array>
#include <cstdint>
#include <memory>

#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

struct Ended {
  Plain<int> times{0};
};

/// A worker at a row of a run, a thread that looks how far it has come, and one that closes the row
/// and goes on with the rest.
struct Row : rl::test_suite<Row, 3> {
  static constexpr std::uint32_t kOperations = 4;

  struct State {
    detail::GraphItem item;
    std::array<Ended, kOperations> ended;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void before() {
    state->item.op = 0;
    state->item.begin_row(kOperations - 1);
  }
  void thread(unsigned index) {
    if (index == 0) return work();
    if (index == 1) return look();
    const std::uint32_t at = state->item.close_row();
    check_seen(at);
    for (std::uint32_t i = at + 1; i < kOperations; ++i) run(i);
  }
  void after() {
    for (const Ended& op : state->ended) check(op.times == 1, "not run once");
  }

  void look() {
    const std::uint32_t at = state->item.reached();
    if (at < kOperations) check_seen(at);  // else it is closed, which the run's lock tells others
  }
  void check_seen(std::uint32_t at) {
    for (std::uint32_t i = 0; i != at; ++i) {
      check(state->ended[i].times == 1, "what has ended is not seen");
    }
  }
  void work() {
    for (std::uint32_t i = 0;; ++i) {
      run(i);
      if (i == state->item.last_of_worker || !state->item.claim_after(i)) return;
    }
  }
  void run(std::uint32_t i) { state->ended[i].times = state->ended[i].times + 1; }
};

}  // namespace

TEST_CASE("graph item: each operation of a row is run once, whoever closes it") {
  require_holds<Row>(50'000);
}

TEST_CASE("graph item: every weaker order is found") {
  require_weaker_found<Row>("engine/graph_item.h", 10'000);
}

}  // namespace heddle::relacy
