#include <atomic>
#include <semaphore>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

// What the workers of one lane promise each other.

TEST_CASE("operations that need each other meet among tiny ones, where workers nap") {
  const int workers = GENERATE(2, 3);
  CAPTURE(workers);
  heddle::Engine engine({.cpu_workers = workers});
  std::atomic<int> ran = 0;
  constexpr int kMeetings = 100;
  constexpr int kTiny = 300;
  for (int meeting = 0; meeting < kMeetings; ++meeting) {
    for (int i = 0; i < kTiny; ++i) engine.push([&ran] { ++ran; }, {}, {});
    std::binary_semaphore one(0);
    std::binary_semaphore other(0);
    const auto meet = [](std::binary_semaphore& mine, std::binary_semaphore& theirs) {
      theirs.release();
      mine.acquire();
    };
    engine.push([&] { meet(one, other); }, {}, {});
    engine.push([&] { meet(other, one); }, {}, {});
    engine.wait_for_all();
  }
  CHECK(ran == kMeetings * kTiny);
}
