#include <cstdint>
#include <map>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/trace.h"

#include "tests/support/engines.h"

// EngineOptions::trace: one record per operation, whatever became of it.

namespace heddle {
namespace {

using support::traced;

std::map<std::uint64_t, OpRecord> records_of(const Engine& engine) {
  std::map<std::uint64_t, OpRecord> records;
  for (const OpRecord& record : engine.trace()) records[record.sequence] = record;
  return records;
}

TEST_CASE("every operation has one record that says what it was and how it ended") {
  HEDDLE_FOR_EACH(configuration, every_engine);
  Engine engine(traced(configuration));
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {x}, {.device = Device::cpu(1), .lane = Lane::kComm, .name = "runs"});
  engine.push([] { throw 1; }, {}, {x}, {.name = "fails"});
  engine.push([] {}, {x}, {}, {.name = "skipped"});
  engine.clear_error(x);
  engine.push_async([](RunContext&, Completion done) { done.done(); }, {x}, {}, {.name = "async"});
  engine.delete_variable(x);
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  CHECK(engine.trace().size() == 6);
  const std::map<std::uint64_t, OpRecord> records = records_of(engine);
  REQUIRE(records.size() == 6);
  CHECK(records.at(1).name == "runs");
  CHECK(records.at(1).device == Device::cpu(1));
  CHECK(records.at(1).lane == Lane::kComm);
  CHECK(records.at(1).outcome == Outcome::kCompleted);
  CHECK(records.at(2).outcome == Outcome::kFailed);
  CHECK(records.at(3).outcome == Outcome::kSkipped);
  CHECK(records.at(4).outcome == Outcome::kCompleted);
  CHECK(records.at(5).outcome == Outcome::kCompleted);
  CHECK(records.at(6).outcome == Outcome::kCompleted);
}

TEST_CASE("the times of a record are in the order of an operation's life") {
  HEDDLE_FOR_EACH(configuration, every_engine);
  Engine engine(traced(configuration));
  const Var x = engine.new_variable();
  for (int i = 0; i < 20; ++i) engine.push([] {}, {}, {x});
  engine.wait_for_all();
  std::int64_t previous = 0;
  for (const auto& [sequence, record] : records_of(engine)) {
    CAPTURE(sequence);
    CHECK(record.pushed > 0);
    CHECK(record.pushed <= record.ready);
    CHECK(record.ready <= record.started);
    CHECK(record.issued == record.started);
    CHECK(record.started <= record.done);
    CHECK(record.started >= previous);  // each conflicts with the one before
    previous = record.done;
  }
}

TEST_CASE("what was skipped or cancelled never started") {
  HEDDLE_FOR_EACH(configuration, every_engine);
  Engine engine(traced(configuration));
  const Var x = engine.new_variable();
  engine.push([] { throw 1; }, {}, {x});
  engine.push([] {}, {}, {x});
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  const OpRecord skipped = records_of(engine).at(2);
  CHECK(skipped.outcome == Outcome::kSkipped);
  CHECK(skipped.started == skipped.done);
  CHECK(skipped.issued == skipped.done);
}

TEST_CASE("without the option nothing is recorded") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  engine.push([] {}, {}, {});
  engine.wait_for_all();
  CHECK(engine.trace().empty());
}

TEST_CASE("the explorer's records stand in the order in which its operations ran") {
  HEDDLE_FOR_EACH(configuration, explore_engines);
  Engine engine(traced(configuration));
  std::vector<std::uint64_t> ran;
  for (int i = 0; i < 50; ++i) {
    engine.push([&ran](RunContext& context) { ran.push_back(context.sequence); }, {}, {});
  }
  engine.wait_for_all();
  std::vector<std::uint64_t> recorded;
  for (const OpRecord& record : engine.trace()) recorded.push_back(record.sequence);
  CHECK(recorded == ran);
}

}  // namespace
}  // namespace heddle
