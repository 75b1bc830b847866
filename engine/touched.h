#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "engine/stretch.h"
#include "engine/tracker.h"
#include "engine/var_state.h"

namespace heddle::detail {

/// Each is here once, as to settle() them is atomic.
class Tracker::Touched {
 public:
  /// An access of `var`, of which none is pending, has ended.
  void add(VarState& var) {
    if (var.ended++ == 0) variables_[count_++] = &var;
  }
  void settle() const noexcept {
    for (std::size_t i = 0; i != count_; ++i) {
      detail::settle(*variables_[i], std::exchange(variables_[i]->ended, 0));
    }
  }

 private:
  std::array<VarState*, Stretch::kMost * Operation::kInlineAccesses> variables_;
  std::size_t count_ = 0;
};

}  // namespace heddle::detail
