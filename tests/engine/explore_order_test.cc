#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"
#include "tests/support/random_program.h"
#include "tests/support/scale.h"

// kExplore: one order per seed, every legal order for some seed, an illegal one for none.

namespace heddle {
namespace {

using support::Log;
using Order = std::vector<std::size_t>;

EngineOptions explorer(std::uint64_t seed, int workers = 2) {
  EngineOptions options;
  options.kind = EngineKind::kExplore;
  options.seed = seed;
  options.cpu_workers = workers;
  return options;
}

struct SmallOperation {
  std::vector<std::size_t> reads;
  std::vector<std::size_t> mutates;
  Lane lane = Lane::kCompute;
  int priority = 0;
};
using SmallProgram = std::vector<SmallOperation>;

/// The order in which the operations of `program` run if all are pushed before a wait.
Order order_of(const SmallProgram& program, const EngineOptions& options) {
  Engine engine(options);
  std::vector<Var> vars;
  for (int i = 0; i < 4; ++i) vars.push_back(engine.new_variable());
  const auto pick = [&vars](const std::vector<std::size_t>& indices) {
    std::vector<Var> picked;
    for (const std::size_t index : indices) picked.push_back(vars[index]);
    return picked;
  };
  Log<std::size_t> log;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const SmallOperation& each = program[i];
    engine.push([&log, i] { log.add(i); }, pick(each.reads), pick(each.mutates),
                {.lane = each.lane, .priority = each.priority});
  }
  engine.wait_for_all();
  return log.entries();
}

bool meet(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

bool conflict(const SmallOperation& a, const SmallOperation& b) {
  return meet(a.mutates, b.mutates) || meet(a.mutates, b.reads) || meet(a.reads, b.mutates);
}

/// All orders that the contract allows, found by trying every ready operation at every step.
class LegalOrders {
 public:
  LegalOrders(const SmallProgram& program, bool many_compute)
      : program_(program), many_compute_(many_compute), ran_(program.size()) {}

  std::set<Order> find() {
    extend();
    return found_;
  }

 private:
  bool is_ready(std::size_t i) const {
    if (ran_[i]) return false;
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (!ran_[earlier] && conflict(program_[earlier], program_[i])) return false;
    }
    return true;
  }
  /// In a lane with one worker what is ready runs by priority, then in push order.
  bool may_run(std::size_t i) const {
    if (!is_ready(i)) return false;
    if (program_[i].lane == Lane::kCompute && many_compute_) return true;
    for (std::size_t other = 0; other < program_.size(); ++other) {
      if (other == i || program_[other].lane != program_[i].lane || !is_ready(other)) continue;
      const int theirs = program_[other].priority;
      const int mine = program_[i].priority;
      if (theirs > mine || (theirs == mine && other < i)) return false;
    }
    return true;
  }
  void extend() {
    if (order_.size() == program_.size()) found_.insert(order_);
    for (std::size_t i = 0; i < program_.size(); ++i) {
      if (!may_run(i)) continue;
      ran_[i] = true;
      order_.push_back(i);
      extend();
      order_.pop_back();
      ran_[i] = false;
    }
  }

  const SmallProgram& program_;
  const bool many_compute_;
  std::vector<bool> ran_;
  Order order_;
  std::set<Order> found_;
};

std::set<Order> orders_of_seeds(const SmallProgram& program, int workers) {
  std::set<Order> orders;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    orders.insert(order_of(program, explorer(seed, workers)));
  }
  return orders;
}

/// Runs `program` under many seeds and checks that exactly the legal orders occur, `count` of them.
void check_orders(const SmallProgram& program, int workers, std::size_t count) {
  const std::set<Order> occurred = orders_of_seeds(program, workers);
  const std::set<Order> legal = LegalOrders(program, workers > 1).find();
  std::vector<Order> illegal;
  std::vector<Order> missing;
  std::set_difference(occurred.begin(), occurred.end(), legal.begin(), legal.end(),
                      std::back_inserter(illegal));
  std::set_difference(legal.begin(), legal.end(), occurred.begin(), occurred.end(),
                      std::back_inserter(missing));
  CHECK(legal.size() == count);
  CHECK(illegal.empty());
  CHECK(missing.empty());
}

TEST_CASE("over the seeds every order of independent operations occurs") {
  check_orders({{}, {}, {{0}, {}}, {{0}, {}}}, 2, 24);
}

TEST_CASE("over the seeds every legal order of conflicting operations occurs, and no illegal one") {
  const SmallProgram diamond = {{{}, {0}}, {{0}, {1}}, {{0}, {2}}, {{1, 2}, {3}}, {{}, {}}};
  check_orders(diamond, 2, 10);
  const SmallProgram two_writes_and_reads = {{{}, {0}},    {{0}, {}}, {{}, {1}},
                                             {{0, 1}, {}}, {{}, {0}}, {{1}, {}}};
  check_orders(two_writes_and_reads, 2, 21);
}

TEST_CASE("over the seeds lanes with one worker interleave, each in the order of its priorities") {
  const SmallProgram program = {{{}, {}, Lane::kCopyIn, 0},  {{}, {}, Lane::kCopyIn, 5},
                                {{}, {}, Lane::kCopyOut, 1}, {{}, {}, Lane::kCopyOut, 1},
                                {{}, {0}, Lane::kCompute},   {{0}, {}, Lane::kComm, 2}};
  check_orders(program, 2, 90);
}

TEST_CASE("with one worker the compute lane has one order too") {
  const SmallProgram program = {{{}, {}, Lane::kCompute, 0},
                                {{}, {}, Lane::kCompute, 3},
                                {{}, {}, Lane::kCompute, 3},
                                {{}, {}, Lane::kBlocking, -1},
                                {{}, {}, Lane::kBlocking, 7}};
  check_orders(program, 1, 10);
}

TEST_CASE("in a lane with one worker what an urgent operation waits for is as urgent") {
  const Lane lane = GENERATE(Lane::kCompute, Lane::kBlocking);
  const SmallProgram direct = {
      {{}, {}, lane, 1}, {{}, {0}, lane, -5}, {{0}, {}, lane, 50}, {{0}, {}, lane, 1}};
  CHECK(orders_of_seeds(direct, 1) == std::set<Order>{{1, 2, 0, 3}});
  const SmallProgram through_others = {{{}, {0}, lane, 0}, {{0}, {1}, lane, 0},
                                       {{0}, {}, lane, 0}, {{1}, {2}, lane, 0},
                                       {{}, {}, lane, 5},  {{2}, {}, lane, 9}};
  CHECK(orders_of_seeds(through_others, 1) == std::set<Order>{{0, 1, 3, 5, 4, 2}});
  const SmallProgram less_urgent = {{{}, {0}, lane, 0}, {{}, {}, lane, 5}, {{0}, {}, lane, 3}};
  CHECK(orders_of_seeds(less_urgent, 1) == std::set<Order>{{1, 0, 2}});
}

TEST_CASE("what becomes ready late takes its place in a lane with one worker") {
  const SmallProgram program = {{{}, {0}, Lane::kCopyIn},      {{0}, {}, Lane::kComm, 9},
                                {{}, {}, Lane::kComm, 1},      {{}, {}, Lane::kComm, 1},
                                {{0}, {1}, Lane::kCopyIn, -1}, {{1}, {}, Lane::kComm, 1}};
  check_orders(program, 2, LegalOrders(program, true).find().size());
}

/// A program with children, deletions, failures, priorities and lanes; completions come from
/// inside operations.
class BigProgram {
 public:
  explicit BigProgram(const EngineOptions& options) : engine_(options) {
    for (int i = 0; i < 6; ++i) vars_.push_back(engine_.new_variable());
  }

  /// The numbers of the operations in the order in which they ran.
  std::vector<std::uint64_t> run() {
    for (std::uint64_t i = 0; i < 200; ++i) {
      push(i);
      if (i % 50 != 49) continue;
      wait_for(vars_[i % vars_.size()]);
      for (const Var& var : vars_) engine_.clear_error(var);
    }
    for (std::uint64_t i = 0; i < vars_.size(); ++i) {
      engine_.delete_variable(vars_[i], [this, i] { log_.add(10000 + i); });
    }
    try {
      engine_.wait_for_all();
    } catch (const AggregateError& error) {
      for (const OpError& each : error.errors()) log_.add(each.sequence());
    }
    return log_.entries();
  }

 private:
  void push(std::uint64_t number) {
    constexpr Lane kLanes[] = {Lane::kCompute, Lane::kCompute, Lane::kCopyIn, Lane::kComm};
    const auto pick = [number](std::uint64_t what) {
      return static_cast<std::size_t>(support::mix(number, what));
    };
    const Var& read = vars_[pick(1) % vars_.size()];
    const Var& written = vars_[pick(2) % vars_.size()];
    const PushOptions options{.lane = kLanes[pick(3) % 4],
                              .priority = static_cast<int>(pick(4) % 3),
                              .overwrites = pick(5) % 2 == 0};
    if (pick(6) % 8 == 0) {
      engine_.push_async(
          [this, number](RunContext&, Completion completion) {
            log_.add(number);
            completion.done();
          },
          {read}, {written}, options);
      return;
    }
    engine_.push(
        [this, number](RunContext& context) {
          log_.add(number);
          if (number < 200 && number % 7 == 0) push(1000 + number);
          if (number % 61 == 60) throw context.sequence;
        },
        {read}, {written}, options);
  }
  void wait_for(const Var& var) {
    try {
      engine_.wait_for_var(var);
    } catch (const OpError& error) {
      log_.add(error.sequence());
    }
  }

  std::vector<Var> vars_;
  Log<std::uint64_t> log_;
  Engine engine_;
};

TEST_CASE("one seed gives the same order of execution every time") {
  const int workers = GENERATE(1, 2);
  for (std::uint64_t seed = 0; seed < 40 / support::kScale + 2; ++seed) {
    const EngineOptions options = explorer(seed, workers);
    const std::vector<std::uint64_t> order = BigProgram(options).run();
    CHECK(order.size() > 150);
    CHECK(BigProgram(options).run() == order);
  }
}

TEST_CASE("different seeds give different orders") {
  const int workers = GENERATE(1, 2);
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    orders.insert(BigProgram(explorer(seed, workers)).run());
  }
  CHECK(orders.size() == 20);
}

TEST_CASE("a schedule does not depend on how many workers there are, if they are several") {
  for (const int workers : {3, 8, 1024}) {
    CHECK(BigProgram(explorer(5, workers)).run() == BigProgram(explorer(5)).run());
  }
  EngineOptions options = explorer(5);
  options.cpu_workers = 0;  // as many as the machine has CPUs, or more
  CHECK(BigProgram(options).run() == BigProgram(explorer(5)).run());
}

TEST_CASE("an access that was not declared gives a wrong result for some seeds, always the same") {
  const auto result = [](std::uint64_t seed) {
    Engine engine(explorer(seed));
    const Var x = engine.new_variable();
    const Var y = engine.new_variable();
    int value = 0;
    engine.push([&value] { value = 1; }, {}, {x});
    engine.push([&value] { value *= 10; }, {}, {y});  // touches what x stands for
    engine.push([&value] { value += 5; }, {}, {x});
    engine.wait_for_all();
    return value;
  };
  std::set<int> results;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const int value = result(seed);
    results.insert(value);
    CHECK(result(seed) == value);
  }
  CHECK(results == std::set<int>{6, 15, 60});
}

TEST_CASE("each ready operation is as likely as another to go first") {
  const SmallProgram program(4);
  std::map<std::size_t, int> first;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) ++first[order_of(program, explorer(seed))[0]];
  REQUIRE(first.size() == 4);
  for (const auto& [operation, times] : first) {
    CHECK(times > 850);
    CHECK(times < 1150);
  }
}

TEST_CASE("an operation of a lane with one worker that was overtaken 1,024 times goes next") {
  constexpr std::size_t kOperations = 2000;
  SmallProgram program(kOperations, {{}, {}, Lane::kCopyOut, 1});
  program[0].priority = 0;
  const Order order = order_of(program, explorer(3));
  CHECK(std::find(order.begin(), order.end(), 0U) - order.begin() == 1024);
}

}  // namespace
}  // namespace heddle
