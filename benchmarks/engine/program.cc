#include "program.h"

#include <algorithm>
#include <random>

namespace bench::engine {
namespace {

using Clock = std::chrono::steady_clock;

void spin(std::chrono::nanoseconds time) {
  const Clock::time_point end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

}  // namespace

Program independent(int count) {
  constexpr int kVariables = 1000;
  Program program{"independent", kVariables, {}};
  for (int i = 0; i < count; ++i) program.operations.push_back({{}, {i % kVariables}});
  return program;
}

Program chain(int count) {
  Program program{"chain", 1, {}};
  program.operations.assign(static_cast<std::size_t>(count), {{}, {0}});
  return program;
}

Program write_then_reads(int count) {
  constexpr int kGroup = 64;
  Program program{"one write, 63 reads", 1, {}};
  for (int i = 0; i < count; ++i) {
    if (i % kGroup == 0) {
      program.operations.push_back({{}, {0}});
    } else {
      program.operations.push_back({{0}, {}});
    }
  }
  return program;
}

Program binary(int count) {
  constexpr int kVariables = 1024;
  Program program{"binary", kVariables, {}};
  std::mt19937 random(42);
  std::uniform_int_distribution<int> variable(0, kVariables - 1);
  for (int i = 0; i < count; ++i) {
    const int out = variable(random);
    const int a = variable(random);
    const int b = variable(random);
    Operation operation{{}, {out}};
    if (a != out) operation.reads.push_back(a);
    if (b != out && b != a) operation.reads.push_back(b);
    program.operations.push_back(operation);
  }
  return program;
}

Program stencil(int count) {
  constexpr int kWidth = 64;
  Program program{"stencil", 2 * kWidth, {}};
  for (int i = 0; i < count; ++i) {
    const int row = i / kWidth;
    const int x = i % kWidth;
    const int from = row % 2 * kWidth;
    const int to = kWidth - from;
    Operation operation{{from + x}, {to + x}};
    if (x > 0) operation.reads.push_back(from + x - 1);
    if (x + 1 < kWidth) operation.reads.push_back(from + x + 1);
    program.operations.push_back(operation);
  }
  return program;
}

Body::Body(std::chrono::nanoseconds grain)
    : mode_(grain.count() > 0 ? Mode::kSpin : Mode::kEmpty), grain_(grain) {}

Body::Body(const Program& program)
    : mode_(Mode::kCheck),
      expected_runs_(program.operations.size()),
      cells_(std::make_unique<Cell[]>(static_cast<std::size_t>(program.variables))) {
  std::vector<Expected> now(static_cast<std::size_t>(program.variables), {0, 0, 0});
  for (const Operation& operation : program.operations) {
    std::vector<Expected> expected;
    for (const int v : operation.reads) {
      Expected& state = now[static_cast<std::size_t>(v)];
      expected.push_back({v, state.writes, -1});
      ++state.reads;
    }
    for (const int v : operation.writes) {
      Expected& state = now[static_cast<std::size_t>(v)];
      expected.push_back({v, state.writes, state.reads});
      ++state.writes;
      state.reads = 0;
    }
    expected_.push_back(std::move(expected));
  }
}

void Body::work(std::size_t operation) const {
  if (mode_ == Mode::kSpin) {
    spin(grain_);
  } else {
    check(operation);
  }
}

void Body::check(std::size_t operation) const {
  ++runs_;
  for (const Expected& expected : expected_[operation]) {
    Cell& cell = cells_[static_cast<std::size_t>(expected.variable)];
    if (cell.writes != expected.writes) ++wrong_;
    if (expected.reads < 0) {
      ++cell.reads;
    } else {
      if (cell.reads != expected.reads) ++wrong_;
      cell.reads = 0;
      ++cell.writes;
    }
  }
}

std::size_t Body::errors() const {
  return wrong_ + (expected_runs_ > runs_ ? expected_runs_ - runs_ : 0);
}

}  // namespace bench::engine
