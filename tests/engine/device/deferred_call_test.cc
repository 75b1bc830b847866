// What a thread leaves until it has nothing in hand.

#include "engine/device/deferred_call.h"

#include <functional>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::device {
namespace {

/// A call that does `action`.
class Action {
 public:
  explicit Action(std::function<void()> action) : action_(std::move(action)) {}
  void defer() { deferred_calls()->add(call_); }

 private:
  const std::function<void()> action_;
  DeferredCall call_{.call = [](void* self) { static_cast<Action*>(self)->action_(); },
                     .argument = this};
};

TEST_CASE("nothing is deferred where there is no deferral") {
  CHECK(deferred_calls() == nullptr);
  { const Deferral deferral; }
  CHECK(deferred_calls() == nullptr);
}

TEST_CASE("what is deferred is called in order at the end of the outermost deferral") {
  std::vector<int> calls;
  Action first([&] { calls.push_back(1); });
  Action second([&] { calls.push_back(2); });
  {
    const Deferral outer;
    first.defer();
    {
      const Deferral inner;
      second.defer();
    }
    CHECK(calls.empty());
  }
  CHECK(calls == std::vector{1, 2});
}

TEST_CASE("what a deferred call defers is called when it is over, behind the others") {
  std::vector<int> calls;
  Action third([&] { calls.push_back(3); });
  Action first([&] {
    third.defer();
    calls.push_back(1);
  });
  Action second([&] { calls.push_back(2); });
  {
    const Deferral deferral;
    first.defer();
    second.defer();
  }
  CHECK(calls == std::vector{1, 2, 3});
}

}  // namespace
}  // namespace heddle::device
