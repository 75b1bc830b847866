#include "engine/ready_queue.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using heddle::detail::ReadyNode;
using heddle::detail::ReadyPlace;
using heddle::detail::ReadyQueue;

/// Owns nodes, which a ReadyQueue does not.
class Nodes {
 public:
  ReadyNode& add(int priority, std::uint64_t sequence) {
    ReadyNode& node = nodes_.emplace_back();
    node.set_priority(priority);
    node.sequence = sequence;
    return node;
  }

 private:
  std::deque<ReadyNode> nodes_;
};

/// The rule itself, looking at every node each time.
class Model {
 public:
  void push(int priority, std::uint64_t sequence) {
    nodes_.push_back({priority, sequence, arrived_++});
  }
  std::uint64_t pop() {
    auto next = nodes_.begin();  // the oldest
    if (popped_ < next->arrival + ReadyQueue::kPatience) {
      next = std::min_element(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) {
        return heddle::detail::goes_before(a, b);
      });
    }
    ++popped_;
    const std::uint64_t sequence = next->sequence;
    nodes_.erase(next);
    return sequence;
  }
  bool empty() const { return nodes_.empty(); }
  std::size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    int priority;
    std::uint64_t sequence;
    std::uint64_t arrival;
  };
  std::vector<Node> nodes_;  // in order of arrival
  std::uint64_t arrived_ = 0;
  std::uint64_t popped_ = 0;
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

TEST_CASE("what passes the ready queue by counts as overtaking") {
  Nodes nodes;
  ReadyQueue queue;
  CHECK(queue.patience_left() == 0);
  queue.push(nodes.add(0, 1));
  queue.push(nodes.add(1, 2));
  REQUIRE(queue.pop()->sequence == 2);
  REQUIRE(queue.patience_left() == ReadyQueue::kPatience - 1);
  for (std::uint64_t i = 2; i < ReadyQueue::kPatience; ++i) queue.overtake();
  CHECK(queue.patience_left() == 1);
  queue.push(nodes.add(1, 3));
  queue.push(nodes.add(1, 4));
  CHECK(queue.pop()->sequence == 3);
  CHECK(queue.patience_left() == 0);
  CHECK(queue.pop()->sequence == 1);
  CHECK(queue.pop()->sequence == 4);
}

TEST_CASE("what passed the ready queue by before a node came has not overtaken that") {
  Nodes nodes;
  ReadyQueue queue;
  queue.push(nodes.add(0, 1));
  for (std::uint64_t i = 0; i < ReadyQueue::kPatience; ++i) queue.overtake();
  queue.push(nodes.add(0, 2));
  queue.push(nodes.add(1, 3));
  CHECK(drain(queue) == std::vector<std::uint64_t>{1, 3, 2});
}

TEST_CASE("what passed an empty ready queue by makes nothing older that passes it later") {
  Nodes nodes;
  ReadyQueue queue;
  for (std::uint64_t i = 0; i < ReadyQueue::kPatience; ++i) queue.overtake();
  queue.put_back(queue.pass(nodes.add(0, 1)));
  queue.push(nodes.add(1, 2));
  CHECK(drain(queue) == std::vector<std::uint64_t>{2, 1});
}

TEST_CASE("who looks at a ready queue sees that something has come or was raised") {
  Nodes nodes;
  ReadyQueue queue;
  ReadyNode& node = nodes.add(0, 1);
  const std::uint32_t before = queue.changes();
  queue.push(node);
  const std::uint32_t pushed = queue.changes();
  CHECK(pushed != before);
  queue.raise(node, 0, 1);
  const std::uint32_t raised = queue.changes();
  CHECK(raised != pushed);
  queue.put_back(queue.take());
  CHECK(queue.changes() != raised);
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

TEST_CASE("the ready queue agrees with its rule where many nodes are overtaken for long") {
  const auto seed = GENERATE(range(1U, 6U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  Nodes nodes;
  ReadyQueue queue;
  Model model;
  // Sequence numbers come in any order, and pushes and pops in long runs of more of the one.
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    const bool growing = i % 8'000 < 3'000;
    if (model.empty() || random() % 4 < (growing ? 3 : 2)) {
      const int priority = static_cast<int>(random() % 8) / 3;
      const std::uint64_t sequence = ((i ^ (random() % 64U)) << 20U) | i;
      queue.push(nodes.add(priority, sequence));
      model.push(priority, sequence);
    } else {
      REQUIRE(queue.pop()->sequence == model.pop());
    }
    REQUIRE(queue.size() == model.size());
  }
}

TEST_CASE("nodes that are put back into the ready queue leave it in their turn") {
  Nodes nodes;
  ReadyQueue queue;
  for (std::uint64_t i = 1; i <= 8; ++i) queue.push(nodes.add(0, i));
  std::vector<heddle::detail::ReadyPlace> one;
  std::vector<heddle::detail::ReadyPlace> other;
  for (int i = 0; i < 3; ++i) one.push_back(queue.take());
  for (int i = 0; i < 3; ++i) other.push_back(queue.take());
  queue.push(nodes.add(1, 9));
  for (const auto& place : one) queue.put_back(place);
  for (const auto& place : other) queue.put_back(place);
  CHECK(queue.size() == 9);
  CHECK(drain(queue) == std::vector<std::uint64_t>{9, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a node that is put back into the ready queue has been overtaken as often as before") {
  Nodes nodes;
  ReadyQueue queue;
  queue.push(nodes.add(0, 1));
  const heddle::detail::ReadyPlace taken = queue.take();
  std::uint64_t sequence = 1;
  const auto overtake = [&](std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) {
      queue.push(nodes.add(1, ++sequence));
      REQUIRE(queue.pop()->sequence == sequence);
    }
  };
  overtake(ReadyQueue::kPatience / 2);
  queue.put_back(taken);
  overtake(ReadyQueue::kPatience / 2);
  queue.push(nodes.add(1, ++sequence));
  CHECK(queue.pop()->sequence == 1);
}

TEST_CASE("a node that is put back each time that it leaves the ready queue goes next each time") {
  Nodes nodes;
  ReadyQueue queue;
  std::uint64_t sequence = 2;
  queue.push(nodes.add(-9, 1));  // so that it arrives before its turn
  ReadyNode& patient = nodes.add(0, 2);
  queue.push(patient);
  const auto push_urgent = [&] {
    ++sequence;
    queue.push(nodes.add(1 + static_cast<int>(sequence % 3), sequence));
  };
  for (int i = 0; i < 10; ++i) push_urgent();
  std::uint32_t overtakers = 0;
  for (int times = 0; times < 5; ++times) {
    ReadyPlace place = queue.take();
    for (; place.node != &patient; place = queue.take()) {
      ++overtakers;
      push_urgent();
    }
    CHECK(overtakers == ReadyQueue::kPatience + 1);
    queue.put_back(place);
  }
}

TEST_CASE("nodes that have passed an empty ready queue and are put back leave it in their turn") {
  ReadyQueue queue;
  Nodes nodes;
  for (std::uint64_t i = 0; i < 2000; ++i) queue.pass(nodes.add(0, i));
  const auto first = queue.pass(nodes.add(0, 2000));
  const auto second = queue.pass(nodes.add(0, 2001));
  queue.push(nodes.add(0, 2002));
  queue.put_back(second);
  queue.put_back(first);
  for (std::uint64_t i = 2000; i < 2003; ++i) CHECK(queue.pop()->sequence == i);
  CHECK(queue.empty());
}

TEST_CASE("a node that is raised leaves the ready queue in its new turn") {
  Nodes nodes;
  ReadyQueue queue;
  for (std::uint64_t i = 1; i <= 3; ++i) queue.push(nodes.add(0, i));
  ReadyNode& in_order = nodes.add(0, 4);
  queue.push(in_order);
  queue.push(nodes.add(1, 5));
  ReadyNode& early = nodes.add(0, 0);
  queue.push(early);
  CHECK(queue.raise(in_order, 0, 2));
  CHECK(queue.raise(early, 0, 1));
  CHECK(queue.size() == 6);
  CHECK(drain(queue) == std::vector<std::uint64_t>{4, 0, 5, 1, 2, 3});
  CHECK(queue.empty());
}

TEST_CASE("the first and the last node of the ready queue can be raised") {
  Nodes nodes;
  ReadyQueue queue;
  ReadyNode& first = nodes.add(0, 1);
  ReadyNode& last = nodes.add(0, 3);
  queue.push(first);
  queue.push(nodes.add(0, 2));
  queue.push(last);
  CHECK(queue.raise(first, 0, 1));
  CHECK(queue.raise(last, 0, 2));
  queue.push(nodes.add(0, 4));
  CHECK(drain(queue) == std::vector<std::uint64_t>{3, 1, 2, 4});
}

TEST_CASE("a node that is not in the ready queue is not raised") {
  Nodes nodes;
  ReadyQueue queue;
  ReadyNode& node = nodes.add(0, 1);
  CHECK_FALSE(queue.raise(node, 0, 1));
  queue.push(node);
  queue.push(nodes.add(0, 2));
  CHECK(queue.pop() == &node);
  CHECK_FALSE(queue.raise(node, 0, 1));
  CHECK(drain(queue) == std::vector<std::uint64_t>{2});
}

TEST_CASE("the ready queue agrees with a sorted map where nodes are raised") {
  const auto seed = GENERATE(range(1U, 6U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  Nodes nodes;
  ReadyQueue queue;
  std::map<std::pair<int, std::uint64_t>, ReadyNode*> model;  // (-priority, sequence)
  std::size_t pops = 0;
  for (std::uint64_t sequence = 1; pops < ReadyQueue::kPatience; ++sequence) {
    const int priority = static_cast<int>(random() % 3);
    ReadyNode& node = nodes.add(priority, sequence);
    queue.push(node);
    model[{-priority, sequence}] = &node;
    if (random() % 2 == 0) {
      const auto raised = std::next(model.begin(), static_cast<int>(random() % model.size()));
      ReadyNode& chosen = *raised->second;
      const int from = chosen.priority();
      const int to = from + 1 + static_cast<int>(random() % 3);
      chosen.set_priority(to);
      model.erase(raised);
      model[{-to, chosen.sequence}] = &chosen;
      REQUIRE(queue.raise(chosen, from, to));
    }
    while (!model.empty() && random() % 2 == 0) {
      ReadyNode* const expected = model.begin()->second;
      model.erase(model.begin());
      ++pops;
      REQUIRE(queue.pop() == expected);
    }
    REQUIRE(queue.size() == model.size());
  }
}
