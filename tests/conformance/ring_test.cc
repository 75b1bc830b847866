#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

#include "tests/conformance/target.h"

// A dependency outlives whatever else is in flight. An engine that marks the points of its streams
// with events of one ring, as MXNet's does with 64, loses it: the producer's event is recorded anew
// behind a later operation of another stream, and the consumer waits for that one instead.

namespace heddle::conformance {
namespace {

/// About the size of that ring, and far beyond it.
constexpr std::size_t kOthers[] = {63, 64, 65, 130, 1000};

/// Windows so wide that all of a test is in flight at once.
EngineOptions wide() {
  EngineOptions options;
  options.cpu_workers = 4;
  options.copy_window = 4096;
  options.compute_window = 4096;
  return options;
}

/// Pushes an operation that, when its stream comes to it, moves `from` to `to`.
void push_move(Engine& engine, const int& from, int& to, VarList reads, VarList mutates,
               const PushOptions& options) {
  engine.push(
      [&from, &to](const RunContext& context) { in_stream(context, [&from, &to] { to = from; }); },
      reads, mutates, options);
}

TEST_CASE("a consumer waits for its producer beyond any number of operations of other streams") {
  for (const std::size_t others : kOthers) {
    Engine engine(wide());
    const Var produced = engine.new_variable();
    const Var consumed = engine.new_variable();
    const Var other = engine.new_variable();
    const int one = 1;
    int product = 0;
    int seen = 0;
    HeldStream held(engine, {}, {produced}, {.device = device(0), .lane = Lane::kCopyIn});
    held.wait_until_started();
    push_move(engine, one, product, {}, {produced}, {.device = device(0), .lane = Lane::kCopyIn});
    for (std::size_t i = 0; i < others; ++i) {
      engine.push([] {}, {}, {other}, {.device = device(0)});
    }
    engine.wait_for_var(other);  // their marks are recorded, and reached
    push_move(engine, product, seen, {produced}, {consumed}, {.device = device(1)});
    for (std::size_t i = 0; i < others; ++i) {
      engine.push([] {}, {}, {other}, {.device = device(0), .lane = Lane::kComm});
    }
    engine.wait_for_var(other);
    held.release();
    engine.wait_for_var(consumed);
    CHECK(seen == 1);
  }
}

TEST_CASE("each consumer waits for its own of very many producers in flight on one stream") {
  // Not so many that CUDA's own queue of the stream that stands still is full.
  for (const std::size_t count : {63U, 64U, 65U, 130U, 200U}) {
    Engine engine(wide());
    const Var first = engine.new_variable();
    const Var other = engine.new_variable();
    HeldStream held(engine, {}, {first}, {.device = device(0)});
    held.wait_until_started();
    const int one = 1;
    std::vector<Var> produced;
    std::vector<Var> consumed;
    std::deque<int> products(count);
    std::deque<int> seen(count);
    for (std::size_t i = 0; i < count; ++i) {
      produced.push_back(engine.new_variable());
      push_move(engine, one, products[i], {}, {produced[i]}, {.device = device(0)});
    }
    // The oldest first: a stream that has waited for the youngest need not wait for the others.
    for (std::size_t i = 0; i < count; ++i) {
      consumed.push_back(engine.new_variable());
      push_move(engine, products[i], seen[i], {produced[i]}, {consumed[i]},
                {.device = device(1), .lane = i % 2 == 0 ? Lane::kCompute : Lane::kComm});
    }
    for (std::size_t i = 0; i < count; ++i) {
      engine.push([] {}, {}, {other}, {.device = device(1), .lane = Lane::kCopyIn});
    }
    engine.wait_for_var(other);
    held.release();
    for (const Var& var : consumed) engine.wait_for_var(var);
    CHECK(seen == std::deque<int>(count, 1));
  }
}

TEST_CASE("a writer waits for a reader beyond any number of operations of other streams") {
  for (const std::size_t others : kOthers) {
    Engine engine(wide());
    const Var x = engine.new_variable();
    const Var seen_var = engine.new_variable();
    const Var other = engine.new_variable();
    int value = 1;
    const int two = 2;
    int seen = 0;
    HeldStream held(engine, {}, {seen_var}, {.device = device(0)});
    held.wait_until_started();
    push_move(engine, value, seen, {x}, {seen_var}, {.device = device(0)});
    for (std::size_t i = 0; i < others; ++i) {
      engine.push([] {}, {}, {other}, {.device = device(1), .lane = Lane::kCopyOut});
    }
    engine.wait_for_var(other);
    push_move(engine, two, value, {}, {x}, {.device = device(1)});
    for (std::size_t i = 0; i < others; ++i) {
      engine.push([] {}, {}, {other}, {.device = device(0), .lane = Lane::kCopyIn});
    }
    engine.wait_for_var(other);
    held.release();
    engine.wait_for_var(x);
    engine.wait_for_var(seen_var);
    CHECK(seen == 1);
    CHECK(value == 2);
  }
}

TEST_CASE("who reads a copy that is under way waits for it, on any stream of any device") {
  const std::vector<std::uint8_t> bytes = pattern(std::size_t{8} << 20U, 5);
  const std::vector<std::uint8_t> last(bytes.end() - 1000, bytes.end());
  const NDArray source = array_of(bytes, Device::cpu_pinned());
  source.wait_to_read();
  Engine& engine = Engine::get();
  const Var hold = engine.new_variable();
  const Var other = engine.new_variable();
  const auto run_others = [&](std::size_t count, Lane lane) {
    for (std::size_t i = 0; i < count; ++i) {
      engine.push([] {}, {}, {other}, {.device = device(0), .lane = lane});
    }
    engine.wait_for_var(other);  // their marks are recorded, and reached
  };
  for (const std::size_t others : kOthers) {
    const NDArray large = array_of(std::vector<std::uint8_t>(bytes.size(), 0), device(0));
    const NDArray tail = large.slice(large.size() - 1000, large.size());
    large.wait_to_read();
    HeldStream held(engine, {}, {hold}, {.device = device(0), .lane = Lane::kCopyIn});
    held.wait_until_started();
    large.copy_from(source);  // its stream stands still
    run_others(others, Lane::kCompute);
    const NDArray computed = tail.copy();  // on the stream of the others
    const NDArray copied_out = tail.to(Device::cpu());
    const NDArray elsewhere = tail.to(device(1));
    run_others(others, Lane::kComm);
    held.release();
    CHECK(computed.to_vector<std::uint8_t>() == last);
    CHECK(copied_out.to_vector<std::uint8_t>() == last);
    CHECK(elsewhere.to_vector<std::uint8_t>() == last);
  }
}

TEST_CASE("a large copy is awaited by who reads it although a great many small operations pass") {
  // 32 MiB beside operations of a few microseconds each.
  const std::vector<std::uint8_t> bytes = pattern(std::size_t{32} << 20U, 4);
  const NDArray source = array_of(bytes, Device::cpu_pinned());
  source.wait_to_read();
  for (int round = 0; round < 2; ++round) {
    const NDArray large = array_of(std::vector<std::uint8_t>(bytes.size(), 0), device(0));
    NDArray small = NDArray::zeros({16}, device(0));
    small.wait_to_read();
    large.wait_to_read();
    large.copy_from(source);
    for (int i = 0; i < 200; ++i) small += 1.0F;
    const NDArray tail = large.slice(large.size() - 1000, large.size()).copy();
    for (int i = 0; i < 200; ++i) small += 1.0F;
    CHECK(tail.to_vector<std::uint8_t>() ==
          std::vector<std::uint8_t>(bytes.end() - 1000, bytes.end()));
    CHECK(small.to_vector<float>() == std::vector<float>(16, 400.0F));
  }
}

}  // namespace
}  // namespace heddle::conformance
