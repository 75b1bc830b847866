#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace bench::engine {

/// What the operations of a run do: nothing, or call a function with their number. They run at the
/// same time as the contender's dependencies allow.
class Body {
 public:
  Body() = default;
  explicit Body(std::function<void(std::size_t operation)> call) : call_(std::move(call)) {}

  void run(std::size_t operation) const {
    if (call_) call_(operation);
  }

 private:
  std::function<void(std::size_t)> call_;
};

}  // namespace bench::engine
