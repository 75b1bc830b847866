#include "engine/ready_ops.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::detail {
namespace {

constexpr std::uint32_t kOperations = 90;
constexpr std::uint32_t kUses = 20;

/// Every operation waits for some before it, or for uses, or for both.
RecordedGraph random_graph(std::mt19937& random) {
  RecordedGraph graph;
  graph.uses.resize(kUses);
  graph.blockers.resize(kOperations);
  graph.waits.resize(kOperations);
  std::vector<NumberLists::Pair> starts;
  std::vector<NumberLists::Pair> followers;
  for (std::uint32_t use = 0; use < kUses; ++use) {
    for (auto op = static_cast<std::uint32_t>(random() % kOperations); op < kOperations;
         op += 1 + static_cast<std::uint32_t>(random() % kOperations)) {
      starts.emplace_back(use, op);
      ++graph.blockers[op];
      ++graph.waits[op];
    }
  }
  for (std::uint32_t op = 1; op < kOperations; ++op) {
    for (auto earlier = static_cast<std::uint32_t>(random() % op); earlier < op;
         earlier += 1 + static_cast<std::uint32_t>(random() % kOperations)) {
      followers.emplace_back(earlier, op);
      ++graph.blockers[op];
    }
  }
  for (std::uint32_t op = 0; op < kOperations; ++op) {
    if (graph.blockers[op] != 0) continue;
    starts.emplace_back(static_cast<std::uint32_t>(random() % kUses), op);
    graph.blockers[op] = graph.waits[op] = 1;
  }
  graph.starts = NumberLists(kUses, starts);
  graph.followers = NumberLists(kOperations, followers);
  std::vector<NumberLists::Pair> ends;
  for (std::uint32_t use = 0; use < kUses; ++use) {
    ends.emplace_back(static_cast<std::uint32_t>(random() % kOperations), use);
  }
  graph.ends = NumberLists(kOperations, ends);
  return graph;
}

/// The same, found anew each time.
class Oracle {
 public:
  explicit Oracle(const RecordedGraph& graph) : graph_(graph) {}
  void grant(std::uint32_t use) { granted_.insert(use); }
  void take(std::uint32_t op) { taken_.insert(op); }
  void end(std::uint32_t op) { ended_.insert(op); }
  bool all_ended() const { return ended_.size() == kOperations; }
  std::set<std::uint32_t> ready() const {
    std::vector<std::uint32_t> blockers = graph_.blockers;
    for (const std::uint32_t use : granted_) {
      for (const std::uint32_t op : graph_.starts[use]) --blockers[op];
    }
    for (const std::uint32_t op : ended_) {
      for (const std::uint32_t follower : graph_.followers[op]) --blockers[follower];
    }
    std::set<std::uint32_t> ready;
    for (std::uint32_t op = 0; op < kOperations; ++op) {
      if (blockers[op] == 0 && !taken_.contains(op)) ready.insert(op);
    }
    return ready;
  }

 private:
  const RecordedGraph& graph_;
  std::set<std::uint32_t> granted_;
  std::set<std::uint32_t> taken_;
  std::set<std::uint32_t> ended_;
};

enum class Order { kNone, kKept, kLeftAtRandom };

/// Where a worker stands that has taken `op`: it goes on with the row, or not.
std::uint32_t go_on(const ReadyOps& ready, Oracle& oracle, std::uint32_t op, std::mt19937& random) {
  const std::uint32_t last = ready.last_in_row(op);
  REQUIRE(last < op + ReadyOps::kMostInRow);
  for (; op != last && random() % 8 != 0; ++op) {
    oracle.end(op);
    REQUIRE(*oracle.ready().begin() == op + 1);
    oracle.take(op + 1);
  }
  return op;
}

/// Runs a random graph by `workers`; between two operations uses are granted, in any order.
void run_and_compare(unsigned seed, std::size_t workers, Order order) {
  std::mt19937 random(seed);
  const RecordedGraph graph = random_graph(random);
  ReadyOps ready(graph, order != Order::kNone);
  Oracle oracle(graph);
  std::vector<std::uint32_t> uses(kUses);
  for (std::uint32_t use = 0; use < kUses; ++use) uses[use] = use;
  if (random() % 2 != 0) std::shuffle(uses.begin(), uses.end(), random);
  std::vector<std::uint32_t> running;
  while (!oracle.all_ended()) {
    if (!uses.empty() && random() % 4 == 0) {
      ready.grant(uses.back());
      oracle.grant(uses.back());
      uses.pop_back();
      if (uses.empty()) ready.end_push();
    }
    if (running.size() < workers) {
      std::uint32_t op = ReadyOps::kNone;
      ready.take_first(op);
      if (op == ReadyOps::kNone) {
        const bool leaves = order == Order::kLeftAtRandom && random() % 16 == 0;
        if (leaves && ready.holds_back()) {
          if (!running.empty()) ready.reach(running.front());
          ready.leave_order();
        }
        ready.leave_order_if_stuck();
        ready.take_first(op);
      }
      if (op != ReadyOps::kNone) {
        REQUIRE(*oracle.ready().begin() == op);
        oracle.take(op);
        running.push_back(go_on(ready, oracle, op, random));
        continue;
      }
      if (!ready.in_order()) REQUIRE((!uses.empty() || oracle.ready().empty()));
    }
    if (running.empty()) continue;
    std::swap(running[random() % running.size()], running.back());
    oracle.end(running.back());
    const std::uint32_t mine = ready.end(running.back());
    running.pop_back();
    if (mine == ReadyOps::kNone) continue;
    REQUIRE(oracle.ready().contains(mine));
    std::uint32_t first = mine;
    ready.take_first(first);
    REQUIRE(*oracle.ready().begin() == first);
    oracle.take(first);
    running.push_back(go_on(ready, oracle, first, random));
  }
}

TEST_CASE("one worker gets the first operation that is ready, in order and out of it") {
  for (unsigned seed = 0; seed < 300; ++seed) run_and_compare(seed, 1, Order::kKept);
}

TEST_CASE("several workers get the first operations that are ready") {
  for (unsigned seed = 0; seed < 300; ++seed) run_and_compare(seed, 3, Order::kNone);
}

TEST_CASE("several workers get the first operations that are ready once one has left the order") {
  for (unsigned seed = 0; seed < 300; ++seed) run_and_compare(seed, 3, Order::kLeftAtRandom);
}

/// A chain, and a use for which only its first operation waits.
RecordedGraph chain(std::uint32_t count, std::uint32_t end_of_use) {
  RecordedGraph graph;
  graph.uses.resize(1);
  graph.blockers.assign(count, 1);
  graph.waits.assign(count, 0);
  graph.waits[0] = 1;
  std::vector<NumberLists::Pair> followers;
  for (std::uint32_t op = 1; op < count; ++op) followers.emplace_back(op - 1, op);
  const std::vector<NumberLists::Pair> starts{{0, 0}};
  const std::vector<NumberLists::Pair> ends{{end_of_use, 0}};
  graph.starts = NumberLists(1, starts);
  graph.followers = NumberLists(count, followers);
  graph.ends = NumberLists(count, ends);
  return graph;
}

TEST_CASE("a row ends where a use ends") {
  const RecordedGraph graph = chain(5, /*end_of_use=*/3);
  ReadyOps ready(graph, /*one_at_a_time=*/true);
  ready.grant(0);
  std::uint32_t op = ReadyOps::kNone;
  ready.take_first(op);
  REQUIRE(op == 0);
  CHECK(ready.last_in_row(op) == 3);
}

TEST_CASE("a row ends before what waits for a use") {
  RecordedGraph graph = chain(5, /*end_of_use=*/4);
  graph.uses.resize(2);
  ++graph.blockers[2];
  ++graph.waits[2];
  const std::vector<NumberLists::Pair> starts{{0, 0}, {1, 2}};
  graph.starts = NumberLists(2, starts);
  ReadyOps ready(graph, /*one_at_a_time=*/true);
  ready.grant(0);
  std::uint32_t op = ReadyOps::kNone;
  ready.take_first(op);
  CHECK(ready.last_in_row(op) == 1);
}

TEST_CASE("when the order is left only what its worker is at is taken of a row") {
  const RecordedGraph graph = chain(5, /*end_of_use=*/4);
  ReadyOps ready(graph, /*one_at_a_time=*/true);
  ready.grant(0);
  ready.end_push();
  std::uint32_t op = ReadyOps::kNone;
  ready.take_first(op);
  REQUIRE(ready.last_in_row(op) == 4);
  ready.reach(2);
  ready.leave_order();
  CHECK(ready.empty());
  CHECK(ready.end(2) == 3);
}

TEST_CASE("once all uses are pushed the order is left for what is ready") {
  RecordedGraph graph;
  graph.uses.resize(2);
  graph.blockers = graph.waits = {1, 1};
  const std::vector<NumberLists::Pair> starts{{0, 0}, {1, 1}};
  graph.starts = NumberLists(2, starts);
  graph.followers = NumberLists(2, {});
  graph.ends = NumberLists(2, {});
  ReadyOps ready(graph, /*one_at_a_time=*/true);
  ready.grant(1);
  ready.leave_order_if_stuck();
  CHECK(ready.empty());
  ready.end_push();
  ready.leave_order_if_stuck();
  REQUIRE(!ready.empty());
  CHECK(ready.first() == 1);
}

}  // namespace
}  // namespace heddle::detail
