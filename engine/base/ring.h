#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace heddle::base {

/// A queue with two ends in one block of memory, whose elements have running numbers: begin() is
/// that of the front, and an element keeps its number until it leaves.
template <class T>
class Ring {
 public:
  bool empty() const { return begin_ == end_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  T& operator[](std::uint64_t number) { return places_[number & (places_.size() - 1)]; }
  const T& operator[](std::uint64_t number) const { return places_[number & (places_.size() - 1)]; }
  const T& front() const { return (*this)[begin_]; }
  const T& back() const { return (*this)[end_ - 1]; }

  // These return false, with every element in place, if there is no memory.
  /// There is room for so many elements.
  [[nodiscard]] bool reserve(std::size_t size) noexcept {
    while (places_.size() < size) {
      if (!grow()) return false;
    }
    return true;
  }
  [[nodiscard]] bool push_back(const T& element) noexcept {
    if (size() == places_.size() && !grow()) return false;
    (*this)[end_++] = element;
    return true;
  }
  [[nodiscard]] bool push_front(const T& element) noexcept {
    if (size() == places_.size() && !grow()) return false;
    (*this)[--begin_] = element;
    return true;
  }
  T pop_front() { return (*this)[begin_++]; }

 private:
  static constexpr std::size_t kFirstSize = 64;  ///< a power of two, as every size

  bool grow() noexcept {
    try {
      std::vector<T> larger(places_.empty() ? kFirstSize : 2 * places_.size());
      for (std::uint64_t i = begin_; i != end_; ++i) larger[i & (larger.size() - 1)] = (*this)[i];
      places_.swap(larger);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  std::vector<T> places_;
  // Far from 0, so that what goes to the front has a number, too.
  std::uint64_t begin_ = std::uint64_t{1} << 62U;
  std::uint64_t end_ = begin_;
};

}  // namespace heddle::base
