// A group of operations that is not wanted any more: a search in many parts ends with the first
// hit. Parts that have not started are skipped, those that run are told, and what was to be written
// can be written again.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>

#include <heddle/heddle.h>

int main() {
  heddle::Engine& engine = heddle::Engine::get();
  heddle::CancelSource search;
  constexpr std::size_t kParts = 200;
  constexpr std::size_t kPartSize = 1'000'000;
  constexpr std::size_t kWanted = 7'654'321;
  std::array<heddle::Var, kParts> parts;
  std::atomic<std::size_t> found{0};

  for (std::size_t part = 0; part < kParts; ++part) {
    parts[part] = engine.new_variable("part");
    engine.push(
        [&, part](const heddle::RunContext& context) {
          const std::size_t begin = part * kPartSize;
          for (std::size_t i = begin; i < begin + kPartSize && !context.stop_requested(); ++i) {
            if (i * i == kWanted * kWanted) {
              found = i;
              search.cancel();
            }
          }
        },
        {}, {parts[part]}, {.name = "search", .cancel = search.token()});
  }
  engine.wait_for_all();  // that parts were cancelled is no error

  std::size_t skipped = 0;
  for (const heddle::Var& part : parts) {
    try {
      engine.wait_for_var(part);
    } catch (const heddle::Cancelled& cancelled) {  // that nobody wrote this part is one
      if (skipped++ == 0) std::printf("%s\n", cancelled.what());
    }
  }
  std::printf("found %zu; %zu of %zu parts were skipped\n", found.load(), skipped, kParts);

  // An operation that writes the variable in full heals it.
  engine.push([] {}, {}, {parts[kParts - 1]}, {.overwrites = true});
  engine.wait_for_var(parts[kParts - 1]);
  return found == kWanted ? 0 : 1;
}
