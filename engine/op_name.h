#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::detail {

/// A copy of an operation's name. Names of up to kShort characters cost no allocation.
class OpName {
 public:
  static constexpr std::size_t kShort = 40;

  void assign(std::string_view name) {
    size_ = name.size();
    if (size_ <= kShort) {
      name.copy(short_.data(), size_);
    } else {
      long_ = name;
    }
  }
  operator std::string_view() const {  // NOLINT(google-explicit-constructor)
    return size_ <= kShort ? std::string_view(short_.data(), size_) : std::string_view(long_);
  }
  bool empty() const { return size_ == 0; }
  std::string str() const { return std::string(std::string_view(*this)); }

 private:
  std::size_t size_ = 0;
  std::array<char, kShort> short_;  // NOLINT: only the first size_ characters are ever read
  std::string long_;
};

}  // namespace heddle::detail
