#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <catch2/catch.hpp>

#include "engine/ready_queue.h"

namespace {

bool has_memory = true;

/// No allocation succeeds while it lives.
class NoMemory {
 public:
  NoMemory() { has_memory = false; }
  ~NoMemory() { has_memory = true; }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

}  // namespace

// Of the whole program, which has one thread.
void* operator new(std::size_t bytes, const std::nothrow_t& /*nothrow*/) noexcept {
  return has_memory ? std::malloc(bytes) : nullptr;
}
void* operator new(std::size_t bytes) {
  void* const block = operator new(bytes, std::nothrow);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t /*bytes*/) noexcept { std::free(block); }

namespace {

using heddle::detail::ReadyNode;
using heddle::detail::ReadyQueue;

constexpr std::size_t kNodes = 300;

struct NumberedNodes : std::array<ReadyNode, kNodes> {
  NumberedNodes() {
    for (std::size_t i = 0; i < kNodes; ++i) (*this)[i].sequence = i;
  }
};

}  // namespace

TEST_CASE("a ready queue without memory gives every node in the order in which they came") {
  NumberedNodes nodes;
  ReadyQueue queue;
  std::array<std::uint64_t, kNodes> left{};
  {
    const NoMemory no_memory;
    for (ReadyNode& node : nodes) queue.push(node);
    for (std::uint64_t& sequence : left) sequence = queue.pop()->sequence;
  }
  for (std::size_t i = 0; i < kNodes; ++i) REQUIRE(left[i] == i);
  CHECK(queue.empty());
}

TEST_CASE("nodes that came while a ready queue had no memory keep their priorities") {
  NumberedNodes nodes;
  ReadyQueue queue;
  for (std::size_t i = 0; i < kNodes / 2; ++i) queue.push(nodes[i]);
  {
    const NoMemory no_memory;
    for (std::size_t i = kNodes / 2; i < kNodes; ++i) {
      nodes[i].set_priority(i + 1 == kNodes ? 1 : 0);
      queue.push(nodes[i]);
    }
  }
  CHECK(queue.size() == kNodes);
  CHECK(queue.pop()->sequence == kNodes - 1);
  for (std::size_t i = 0; i + 1 < kNodes; ++i) REQUIRE(queue.pop()->sequence == i);
  CHECK(queue.pop() == nullptr);
}

TEST_CASE("a node keeps its turn where a ready queue has no memory to raise it") {
  NumberedNodes nodes;
  ReadyQueue queue;
  for (ReadyNode& node : nodes) queue.push(node);
  {
    const NoMemory no_memory;
    CHECK_FALSE(queue.raise(nodes.back(), 0, 1));
  }
  CHECK(queue.size() == kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) REQUIRE(queue.pop()->sequence == i);
}
