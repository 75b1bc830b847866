#include "overlap/comparison.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace bench::overlap {
namespace {

using heddle::OpRecord;

/// What each program must reach on the model clock when it never waits.
constexpr double kLeastOfBound = 0.95;

// Where the contenders stand.
constexpr std::size_t kHeddle = 0;
constexpr std::size_t kByHand = 1;
constexpr std::size_t kSerial = 2;
constexpr std::size_t kEachOperation = 3;

Run run_once(const Contender& contender, int steps) {
  heddle::Engine& engine = heddle::Engine::get();
  engine.wait_for_all();
  const std::vector<OpRecord> before = engine.trace();
  const auto begin = std::chrono::steady_clock::now();
  contender.script->run(steps);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::vector<OpRecord> records;
  if (contender.machine != nullptr) {
    records = contender.machine->take_records();
  } else {
    records = engine.trace();
    records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(before.size()));
  }
  return {.wall = overlap_of(records, wall.count()),
          .model = modelled_overlap(before, records),
          .timeline = modelled_timeline(records)};
}

/// What the others are compared with.
struct Rivals {
  const Run& serial;
  const Run& each_operation;
  const Run& by_hand;
};

/// What one contender took, in all of its runs.
class Measured {
 public:
  Measured(std::string_view name, std::string_view contender)
      : rows_{row(name, contender, "wall seconds"),
              row(name, contender, "wall efficiency"),
              row(name, contender, "wall speed-up over serial steps"),
              row(name, contender, "wall speed-up over each operation"),
              row(name, contender, "wall time over hand-written streams"),
              row(name, contender, "model seconds"),
              row(name, contender, "model efficiency"),
              row(name, contender, "model efficiency by the bound"),
              row(name, contender, "model speed-up over serial steps"),
              row(name, contender, "model speed-up over each operation")} {}

  void add(const Run& run, const Rivals& rivals) {
    const double wall = run.wall.wall;
    rows_[0].samples.push_back(wall);
    if (run.wall.efficiency > 0) rows_[1].samples.push_back(run.wall.efficiency);
    rows_[2].samples.push_back(rivals.serial.wall.wall / wall);
    rows_[3].samples.push_back(rivals.each_operation.wall.wall / wall);
    rows_[4].samples.push_back(wall / rivals.by_hand.wall.wall);
    if (run.timeline.empty()) return;  // a real GPU has no model, nor has what is done by hand
    rows_[5].samples.push_back(run.model.wall);
    rows_[6].samples.push_back(run.model.efficiency);
    rows_[7].samples.push_back(run.model.of_bound);
    rows_[8].samples.push_back(rivals.serial.model.wall / run.model.wall);
    rows_[9].samples.push_back(rivals.each_operation.model.wall / run.model.wall);
  }

  void append_to(std::vector<Row>& rows) const {
    for (const Row& row : rows_) {
      if (!row.samples.empty()) rows.push_back(row);
    }
  }

 private:
  static Row row(std::string_view name, std::string_view contender, const char* metric) {
    return {std::string(name), std::string(contender), metric, {}};
  }

  std::array<Row, 10> rows_;
};

void expect_at_least(double least, const char* what, double value) {
  if (value >= least) return;
  throw std::runtime_error(std::string(what) + ' ' + std::to_string(value) +
                           " on the model clock, expected at least " + std::to_string(least));
}

}  // namespace

Comparison::Comparison(const Program& program, const Sizes& sizes)
    : program_(program), machine_(by_hand::make_machine()) {
  const auto on_heddle = [&](Waits::When when) { return program.on_heddle(sizes, Waits(when)); };
  contenders_ = {{{"heddle", on_heddle(Waits::When::kNever)},
                  {"hand-written", program.by_hand(sizes, *machine_), machine_.get()},
                  {"serial steps", on_heddle(Waits::When::kEachStep)},
                  {"wait after each operation", on_heddle(Waits::When::kEachOperation)}}};
  if (by_hand::on_real_gpus()) alone_ = program.by_hand(sizes, *machine_);
}

void Comparison::verify(int steps) {
  for (const Contender& contender : contenders_) run_once(contender, steps);
  if (alone_ != nullptr) alone_->run(steps);
  expect_equal_results();
}

void Comparison::expect_equal_results() const {
  const Contender& serial = contenders_[kSerial];
  const auto expected = serial.script->results();
  for (const Contender& contender : contenders_) {
    if (contender.script->results() == expected) continue;
    throw std::runtime_error('"' + contender.name + "\" has other results than \"" + serial.name +
                             '"');
  }
}

std::vector<Run> Comparison::run_each(int steps) {
  std::vector<Run> runs;
  for (const Contender& contender : contenders_) runs.push_back(run_once(contender, steps));
  if (alone_ == nullptr) return runs;
  machine_->run_alone(true);
  alone_->run(steps);
  machine_->run_alone(false);
  const double busiest = overlap_of(machine_->take_records(), 1.0).efficiency;
  // What the engine notes is when it enqueued the work, not when the GPU was at it.
  for (Run& run : runs) run.wall.efficiency = busiest / run.wall.wall;
  return runs;
}

std::vector<Row> Comparison::measure(const std::string& name, int runs, int steps, bool check) {
  std::vector<Measured> measured;
  for (const Contender& contender : contenders_) measured.emplace_back(name, contender.name);
  Run reference;
  for (int i = 0; i < runs; ++i) {
    std::vector<Run> each = run_each(steps);
    const Rivals rivals{
        .serial = each[kSerial], .each_operation = each[kEachOperation], .by_hand = each[kByHand]};
    for (std::size_t k = 0; k < each.size(); ++k) measured[k].add(each[k], rivals);
    if (check && i > 0) check_model(reference, each[kHeddle]);
    reference = std::move(each[kHeddle]);
  }
  expect_equal_results();
  std::vector<Row> rows;
  for (const Measured& contender : measured) contender.append_to(rows);
  return rows;
}

void Comparison::check_model(const Run& first, const Run& second) const {
  if (first.timeline != second.timeline) {
    throw std::runtime_error("two runs have different modelled timelines");
  }
  if (first.timeline.empty()) return;
  expect_at_least(program_.least_efficiency, "efficiency", first.model.efficiency);
  expect_at_least(kLeastOfBound, "efficiency by the bound", first.model.of_bound);
}

}  // namespace bench::overlap
