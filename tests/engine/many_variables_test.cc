#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"

// Operations with more variables than lie in an operation, or in a push that workers take in.

namespace heddle {
namespace {

using support::Gate;
using support::HeldOperation;

std::vector<Var> make_vars(Engine& engine, std::size_t count) {
  std::vector<Var> vars;
  for (std::size_t i = 0; i < count; ++i) vars.push_back(engine.new_variable());
  return vars;
}

TEST_CASE("an operation waits for each of the many variables that it names") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  EngineOptions with_two = options;
  with_two.cpu_workers = 2;
  Engine engine(with_two);
  const std::vector<Var> vars = make_vars(engine, 9);
  const std::span<const Var> all(vars);
  for (const Var& busy : vars) {
    HeldOperation held(engine, {}, {busy});
    held.wait_until_started();
    Gate ran;
    engine.push([&ran] { ran.open(); }, all.first(7), all.subspan(7));
    engine.push([] {}, {}, {});
    engine.push([] {}, {}, {});
    CHECK_FALSE(ran.is_open());
    held.release();
    ran.wait();
  }
}

/// Operations of one variable and of many in turn, and what they would make of their numbers if
/// they ran one after the other.
class Mixture {
 public:
  static constexpr std::size_t kNumbers = 8;

  explicit Mixture(Engine& engine) : engine_(engine), vars_(make_vars(engine, kNumbers)) {}
  void push(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const std::size_t one = static_cast<std::size_t>(i) % kNumbers;
      engine_.push([this, one] { numbers_.at(one) += 3; }, {}, {vars_[one]});
      if (i % 3 != 0) continue;
      engine_.push([this] { mix(numbers_); }, std::span<const Var>(vars_).subspan(2),
                   {vars_[0], vars_[1]});
    }
    for (int i = 0; i < rounds; ++i) {
      expected_.at(static_cast<std::size_t>(i) % kNumbers) += 3;
      if (i % 3 == 0) mix(expected_);
    }
  }
  const std::vector<std::uint64_t>& numbers() const { return numbers_; }
  const std::vector<std::uint64_t>& expected() const { return expected_; }

 private:
  static void mix(std::vector<std::uint64_t>& numbers) {
    for (std::size_t i = 2; i < kNumbers; ++i) numbers[0] = 5 * numbers[0] + numbers[i];
    numbers[1] ^= numbers[0];
  }

  Engine& engine_;
  std::vector<Var> vars_;
  std::vector<std::uint64_t> numbers_ = std::vector<std::uint64_t>(kNumbers);
  std::vector<std::uint64_t> expected_ = std::vector<std::uint64_t>(kNumbers);
};

TEST_CASE("tiny operations keep their places among those that name many variables") {
  for (const int workers : {1, 2, 3}) {
    EngineOptions options;
    options.cpu_workers = workers;
    Engine engine(options);
    Mixture mixture(engine);
    for (int round = 0; round < 20; ++round) {
      mixture.push(300);
      if (round % 2 == 0) engine.wait_for_all();
    }
    engine.wait_for_all();
    CHECK(mixture.numbers() == mixture.expected());
  }
}

TEST_CASE("a push of many variables that finds no room is left when there is some") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  EngineOptions with_little_room = options;
  with_little_room.max_pending = 2;
  Engine engine(with_little_room);
  Mixture mixture(engine);
  mixture.push(300);
  engine.wait_for_all();
  CHECK(mixture.numbers() == mixture.expected());
}

TEST_CASE("a push that names a deleted variable among many leaves nothing behind") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::vector<Var> vars = make_vars(engine, 6);
  engine.delete_variable(vars[4]);
  CHECK_THROWS_AS(engine.push([] {}, vars, {}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push([] {}, {}, vars), std::invalid_argument);
  vars[4] = engine.new_variable();
  bool ran = false;
  engine.push([&ran] { ran = true; }, {}, vars);
  engine.wait_for_all();
  CHECK(ran);
  CHECK(engine.version(vars[5]) == 1);
}

}  // namespace
}  // namespace heddle
