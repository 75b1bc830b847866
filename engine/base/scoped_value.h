#pragma once

#include <utility>

namespace heddle::base {

/// Gives a variable a value for as long as the object lives, then the one that it had.
template <class T>
class ScopedValue {
 public:
  ScopedValue(T& variable, T value) noexcept
      : variable_(variable), before_(std::exchange(variable, value)) {}
  ~ScopedValue() { variable_ = before_; }
  ScopedValue(const ScopedValue&) = delete;
  ScopedValue& operator=(const ScopedValue&) = delete;

 private:
  T& variable_;
  const T before_;
};

}  // namespace heddle::base
