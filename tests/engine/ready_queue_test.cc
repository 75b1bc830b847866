#include "engine/ready_queue.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using heddle::detail::ReadyNode;
using heddle::detail::ReadyQueue;

/// Owns nodes, which a ReadyQueue does not.
class Nodes {
 public:
  ReadyNode& add(int priority, std::uint64_t sequence) {
    ReadyNode& node = nodes_.emplace_back();
    node.priority = priority;
    node.sequence = sequence;
    return node;
  }

 private:
  std::deque<ReadyNode> nodes_;
};

std::vector<std::uint64_t> drain(ReadyQueue& queue) {
  std::vector<std::uint64_t> order;
  while (const ReadyNode* node = queue.pop()) order.push_back(node->sequence);
  return order;
}

}  // namespace

TEST_CASE("an empty ready queue gives nothing") {
  ReadyQueue queue;
  CHECK(queue.empty());
  CHECK(queue.pop() == nullptr);
}

TEST_CASE("higher priorities leave the ready queue first, equal ones in sequence order") {
  Nodes nodes;
  ReadyQueue queue;
  queue.push(nodes.add(0, 3));
  queue.push(nodes.add(5, 4));
  queue.push(nodes.add(0, 1));
  queue.push(nodes.add(-1, 2));
  queue.push(nodes.add(5, 5));
  CHECK(drain(queue) == std::vector<std::uint64_t>{4, 5, 1, 3, 2});
}

TEST_CASE("a node that was overtaken 1,024 times leaves the ready queue next") {
  Nodes nodes;
  ReadyQueue queue;
  queue.push(nodes.add(0, 1));
  std::uint64_t sequence = 2;
  queue.push(nodes.add(1, sequence));
  for (std::uint64_t overtaken = 0; overtaken < ReadyQueue::kPatience; ++overtaken) {
    REQUIRE(queue.pop()->sequence == sequence);
    queue.push(nodes.add(1, ++sequence));
  }
  CHECK(queue.pop()->sequence == 1);
  CHECK(queue.pop()->sequence == sequence);
}

TEST_CASE("nodes that came earlier do not count as overtaking") {
  Nodes nodes;
  ReadyQueue queue;
  const std::uint64_t count = 2 * ReadyQueue::kPatience;
  for (std::uint64_t i = 1; i <= count; ++i) queue.push(nodes.add(0, i));
  queue.push(nodes.add(-1, count + 1));
  for (std::uint64_t i = 1; i <= count; ++i) REQUIRE(queue.pop()->sequence == i);
  CHECK(queue.pop()->sequence == count + 1);
}

TEST_CASE("the ready queue agrees with a sorted map over random pushes and pops") {
  const auto seed = GENERATE(range(1U, 6U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  Nodes nodes;
  ReadyQueue queue;
  std::map<std::pair<int, std::uint64_t>, bool> model;  // (-priority, sequence)
  // Fewer pops than the patience, so that nothing is ever old enough to jump the order.
  std::size_t pops = 0;
  for (std::uint64_t sequence = 1; pops < ReadyQueue::kPatience; ++sequence) {
    const int priority = static_cast<int>(random() % 5);
    queue.push(nodes.add(priority, sequence));
    model[{-priority, sequence}] = true;
    while (!model.empty() && random() % 2 == 0) {
      const std::uint64_t expected = model.begin()->first.second;
      model.erase(model.begin());
      ++pops;
      REQUIRE(queue.pop()->sequence == expected);
    }
  }
  CHECK(queue.size() == model.size());
}
