#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <heddle/heddle.h>

#include "overlap/by_hand/machine.h"
#include "overlap/script.h"

namespace bench::overlap {

/// When a program waits: the same script, as different schools would run it.
class Waits {
 public:
  enum class When {
    kNever,          ///< the engine finds what can overlap
    kEachStep,       ///< serial: a step begins when the one before it has ended
    kEachOperation,  ///< after every operation, as where each one synchronizes
  };
  explicit Waits(When when) : when_(when) {}
  void after_operation(const heddle::NDArray& result) const {
    if (when_ == When::kEachOperation) result.wait_to_read();
  }
  void after_step() const {
    if (when_ != When::kNever) heddle::Engine::get().wait_for_all();
  }

 private:
  When when_;
};

/// What is to be done on gpu(0) and, but for the first, gpu(1).
struct Program {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Script> (*on_heddle)(const Sizes& sizes, Waits waits);
  std::unique_ptr<Script> (*by_hand)(const Sizes& sizes, by_hand::Machine& machine);
  double least_efficiency;  ///< that must be reached on the model clock when it never waits
};

std::span<const Program> programs();

}  // namespace bench::overlap
