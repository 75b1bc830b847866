#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

#include "tests/conformance/target.h"

// Scripts that are recorded give what their plain pushes give.

namespace heddle::conformance {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr int kRuns = 5;

TEST_CASE("a recorded script gives on every device what its pushes give") {
  for (std::size_t i = 0; i < devices().size(); ++i) {
    const auto script = [i](NDArray& x, NDArray& y) {
      x += y.to(device(i)) * 3;
      y.copy_from((x - 1).to(device(i + 1)));
      y += 2;
    };
    const auto run = [i, &script](bool recorded) {
      NDArray x = NDArray::arange(0, 200, 1, device(i), DType::kInt64);
      NDArray y = NDArray::ones({200}, device(i + 1), DType::kInt64);
      if (recorded) {
        const Recording recording = Engine::get().record([&] { script(x, y); });
        for (int k = 0; k < kRuns; ++k) recording.run();
      } else {
        for (int k = 0; k < kRuns; ++k) script(x, y);
      }
      return std::vector{x.to_vector<std::int64_t>(), y.to_vector<std::int64_t>()};
    };
    CHECK(run(true) == run(false));
  }
}

TEST_CASE("runs of a recording keep their order with the pushes between them") {
  for (std::size_t i = 0; i < devices().size(); ++i) {
    NDArray x = NDArray::zeros({100}, device(i), DType::kInt64);
    const Recording recording = Engine::get().record([&] {
      for (std::size_t step = 0; step < 4; ++step) {
        x.copy_from((x.to(device(i + step)) * 2 + 1).to(device(i)));
      }
    });
    std::int64_t expected = 0;
    for (std::int64_t k = 0; k < 6; ++k) {
      recording.run();
      expected = expected * 16 + 15;
      x += k;
      expected += k;
    }
    CHECK(x.to_vector<std::int64_t>() == Integers(100, expected));
  }
}

TEST_CASE("runs of a recording draw on every device what plain pushes would draw") {
  for (const Device where : devices()) {
    const auto draw = [where](bool recorded) {
      random::seed(5);
      NDArray sum = NDArray::zeros({99}, where);
      const auto script = [&] { sum += random::uniform(0, 1, {99}, where); };
      if (recorded) {
        const Recording recording = Engine::get().record(script);
        // What the script drew when it was recorded was reserved then.
        random::seed(5);
        for (int k = 0; k < kRuns; ++k) recording.run();
      } else {
        for (int k = 0; k < kRuns; ++k) script();
      }
      return sum.to_vector<float>();
    };
    CHECK(draw(true) == draw(false));
  }
}

}  // namespace
}  // namespace heddle::conformance
