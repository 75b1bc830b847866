#pragma once

#include <span>
#include <string_view>

#include <heddle/heddle.h>

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

/// One script on gpu(0) and, but for the first, gpu(1).
struct Program {
  std::string_view name;
  std::string_view summary;
  void (*run)(int steps, const Waits& waits);
  double least_efficiency;  ///< that must be reached on the model clock when it never waits
};

std::span<const Program> programs();

}  // namespace bench::overlap
