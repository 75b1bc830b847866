#include "tests/support/program_text.h"

#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/random_program.h"

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::parse_program;
using support::to_text;

TEST_CASE("a program that is written and read again is the same") {
  support::ProgramShape shape;
  shape.threads = 3;
  shape.steps_per_thread = 2000;  // all that there is comes up
  EngineOptions options;
  options.kind = EngineKind::kPooled;
  options.cpu_workers = 3;
  options.max_pending = 16;
  options.seed = 7;
  const std::string text = to_text(support::generate(shape), options);
  const support::ProgramText read = parse_program(text);
  CHECK(to_text(read.program, read.options) == text);
}

TEST_CASE("of a program that is read is counted what it names") {
  const support::ProgramText read = parse_program(
      "# two threads\n"
      "variables 3\n"
      "operation mutates 2 group 4\n"
      "operation reads 0 child 0\n"
      "thread\n"
      "push 1\n"
      "thread\n"
      "cancel 5\n");
  CHECK(read.program.groups == 6);
  CHECK(read.program.shape.threads == 2);
  CHECK(read.program.shape.children);
}

TEST_CASE("a line that does not parse is named") {
  CHECK_THROWS_WITH(parse_program("variables 1\nthread\njump 0\n"),
                    Contains("line 3") && Contains("jump"));
  CHECK_THROWS_WITH(parse_program("operation ending badly\n"), Contains("badly"));
  CHECK_THROWS_WITH(parse_program("operation reads 0 0 0 0 0\n"), Contains("too many"));
  CHECK_THROWS_WITH(parse_program("push 0\n"), Contains("before the first thread"));
}

TEST_CASE("a program that names what there is not is refused") {
  CHECK_THROWS_WITH(parse_program("variables 1\noperation reads 1\n"), Contains("no variable 1"));
  CHECK_THROWS_WITH(parse_program("thread\npush 0\n"), Contains("no operation 0"));
}

TEST_CASE("a program that pushes an operation twice is refused") {
  CHECK_THROWS_WITH(parse_program("operation\nthread\npush 0\npush 0\n"), Contains("twice"));
}

}  // namespace
}  // namespace heddle
