#include "tests/support/program_shrink.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/program_text.h"
#include "tests/support/random_program.h"

namespace heddle {
namespace {

using support::Program;
using support::RandomOperation;
using support::Step;

constexpr int kEnough = 100000;

Program large_program() {
  support::ProgramShape shape;
  shape.seed = 5;
  shape.threads = 3;
  shape.steps_per_thread = 200;
  return support::generate(shape);
}

/// A thread pushes an operation that fails and overwrites.
bool pushes_failing_overwrite(const Program& program) {
  return std::any_of(program.threads.begin(), program.threads.end(), [&](const auto& steps) {
    return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
      if (step.kind != Step::Kind::kPush) return false;
      const RandomOperation& operation = program.operations[static_cast<std::size_t>(step.index)];
      return fails(operation.ending) && operation.overwrites;
    });
  });
}

std::string text_of(const Program& program) { return support::to_text(program, {}); }

TEST_CASE("what does not matter for a failure is taken away from a program") {
  const Program small = support::shrink(large_program(), pushes_failing_overwrite, kEnough);
  CHECK(small.threads.size() == 1);
  CHECK(small.threads[0].size() == 1);
  REQUIRE(small.operations.size() == 1);
  CHECK(small.operations[0].read_count == 0);
  CHECK(small.operations[0].mutate_count == 0);
  CHECK(small.operations[0].device == Device());
  CHECK(small.shape.variables == 1);
  CHECK(small.groups == 0);
}

TEST_CASE("what fails is still what has failed") {
  const Program small = support::shrink(large_program(), pushes_failing_overwrite, kEnough);
  CHECK(pushes_failing_overwrite(small));
}

TEST_CASE("a program that does not fail again stays as it is") {
  int asked = 0;
  const auto never = [&asked](const Program&) {
    ++asked;
    return false;
  };
  const Program program = large_program();
  CHECK(text_of(support::shrink(program, never, kEnough)) == text_of(program));
  CHECK(asked == 1);
}

TEST_CASE("no more programs are tried than may be") {
  int asked = 0;
  const auto always = [&asked](const Program&) {
    ++asked;
    return asked % 2 == 1;
  };
  support::shrink(large_program(), always, 10);
  CHECK(asked == 10);
}

}  // namespace
}  // namespace heddle
