// What an operation throws travels with the variables that it should have written, and reaches
// whoever waits for them.

#include <cstdio>
#include <stdexcept>

#include <heddle/heddle.h>

int main() {
  heddle::Engine& engine = heddle::Engine::get();
  const heddle::Var input = engine.new_variable("input");
  const heddle::Var output = engine.new_variable("output");
  const heddle::Var other = engine.new_variable("other");
  int value = 0;
  int unrelated = 0;

  engine.push([] { throw std::runtime_error("no such file"); }, {}, {input}, {.name = "read"});
  engine.push([&] { value = 1; }, {input}, {output}, {.name = "parse"});  // is skipped
  engine.push([&] { unrelated = 1; }, {}, {other}, {.name = "unrelated"});

  bool caught = false;
  try {
    engine.wait_for_var(output);
  } catch (const heddle::OpError& error) {  // names the operation that threw, not "parse"
    std::printf("caught: %s\n", error.what());
    caught = error.op_name() == "read";
  }

  // Other variables are as they would be without the error.
  engine.wait_for_var(other);

  // An operation that writes its variables in full heals them.
  engine.push([] {}, {}, {input}, {.name = "read again", .overwrites = true});
  engine.push([&] { value = 2; }, {input}, {output}, {.name = "parse again", .overwrites = true});
  engine.wait_for_var(output);
  std::printf("value %d, unrelated %d\n", value, unrelated);

  // wait_for_all() throws only what no wait has reported yet: here, nothing.
  engine.wait_for_all();
  return caught && value == 2 && unrelated == 1 ? 0 : 1;
}
