#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

namespace detail {

[[noreturn]] void refuse_dimension(std::uint64_t value);

/// A dimension given as an integer of any type; what 64 bits cannot hold is std::invalid_argument.
class Dim {
 public:
  template <std::integral Int>
  requires(!std::same_as<Int, bool>)
      Dim(Int value)  // NOLINT(google-explicit-constructor): {n, std::size_t{3}} is a shape
      : value_(static_cast<std::int64_t>(value)) {
    if (!std::in_range<std::int64_t>(value)) refuse_dimension(static_cast<std::uint64_t>(value));
  }
  std::int64_t value() const { return value_; }

 private:
  std::int64_t value_;
};

}  // namespace detail

/// The dimensions of an array, outermost first. Shape{} is a scalar of one element.
class Shape {
 public:
  Shape() = default;

  /// From {2, 3} of any integers. Throws std::invalid_argument if a dimension is negative or the
  /// number of elements, zeros left out, overflows 64 bits.
  Shape(std::initializer_list<detail::Dim> dims);
  explicit Shape(std::span<const std::int64_t> dims);

  int ndim() const { return ndim_; }
  /// Dimension i; a negative i counts from the end. Throws std::invalid_argument out of range.
  std::int64_t dim(int i) const;
  std::int64_t operator[](int i) const { return dim(i); }
  /// Number of elements; 1 for a scalar.
  std::int64_t size() const { return size_; }
  /// Valid while the shape lives.
  std::span<const std::int64_t> dims() const {
    if (static_cast<std::size_t>(ndim_) > kFew) return more_;
    return {few_.data(), static_cast<std::size_t>(ndim_)};
  }
  /// "(2, 3)"; "()" for a scalar.
  std::string str() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    return std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end());
  }

 private:
  static constexpr std::size_t kFew = 4;

  std::int64_t* resize(std::size_t ndim);
  void count_elements();

  int ndim_ = 0;
  std::int64_t size_ = 1;
  std::array<std::int64_t, kFew> few_{};
  std::vector<std::int64_t> more_;  ///< used instead if there are more than kFew
};

}  // namespace heddle
