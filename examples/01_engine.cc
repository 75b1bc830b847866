// engine.push alone: plain functions on plain data, ordered by the variables that they name.

#include <cstdio>
#include <string>
#include <vector>

#include <heddle/heddle.h>

int main() {
  heddle::Engine& engine = heddle::Engine::get();

  // A variable is a tag. What it stands for is known to the operations only.
  std::vector<int> numbers;
  long sum = 0;
  long squares = 0;
  const heddle::Var numbers_var = engine.new_variable("numbers");
  const heddle::Var sum_var = engine.new_variable("sum");
  const heddle::Var squares_var = engine.new_variable("squares");

  engine.push([&] { numbers = {1, 2, 3, 4, 5}; }, {}, {numbers_var}, {.name = "fill"});

  // Both only read `numbers`: they may run at the same time, and not before it is filled.
  engine.push(
      [&] {
        for (int n : numbers) sum += n;
      },
      {numbers_var}, {sum_var}, {.name = "sum"});
  engine.push(
      [&] {
        for (int n : numbers) squares += n * n;
      },
      {numbers_var}, {squares_var}, {.name = "squares"});

  // Mutates what the two above read: runs when both have ended.
  engine.push([&] { numbers.clear(); }, {}, {numbers_var}, {.name = "clear"});

  // push returns at once. Waiting is for a variable, and for what it depends on.
  engine.wait_for_var(sum_var);
  std::printf("sum %ld\n", sum);
  engine.wait_for_var(squares_var);
  std::printf("squares %ld\n", squares);
  engine.wait_for_all();

  return sum == 15 && squares == 55 && numbers.empty() ? 0 : 1;
}
