#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/ndarray.h"

#include "ndarray/dispatch.h"

namespace heddle {
namespace {

constexpr std::int64_t kLongArray = 1000;  // elements, beyond which axes are shortened
constexpr std::int64_t kEdge = 3;          // rows shown at each end of a shortened axis

template <class T>
std::string element_text(T value) {
  std::ostringstream text;
  if constexpr (sizeof(T) == 1) {
    text << static_cast<int>(value);
  } else {
    text << value;
  }
  return text.str();
}

/// Prints `elements` as nested lists; `size` of them, from `first` on, belong to `axis` and those
/// inside of it.
template <class T>
class Printer {
 public:
  Printer(std::ostream& out, const Shape& shape, const std::vector<T>& elements)
      : out_(out), shape_(shape), elements_(elements) {}

  void print(int axis, std::int64_t first, std::int64_t size) {
    if (axis == shape_.ndim()) {
      out_ << element_text(elements_[static_cast<std::size_t>(first)]);
      return;
    }
    const std::int64_t rows = shape_[axis];
    const std::int64_t row_size = rows > 0 ? size / rows : 0;
    const bool shortened = shape_.size() > kLongArray && rows > 2 * kEdge;
    out_ << '[';
    for (std::int64_t row = 0; row < rows; ++row) {
      if (row > 0) separate(axis);
      if (shortened && row == kEdge) {
        out_ << "...";
        separate(axis);
        row = rows - kEdge;
      }
      print(axis + 1, first + row * row_size, row_size);
    }
    out_ << ']';
  }

 private:
  void separate(int axis) {
    const bool innermost = axis + 1 == shape_.ndim();
    out_ << (innermost ? ", " : ",\n" + std::string(static_cast<std::size_t>(axis) + 1, ' '));
  }

  std::ostream& out_;
  const Shape& shape_;
  const std::vector<T>& elements_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const NDArray& array) {
  if (!array) return out << "NDArray{}";
  detail::visit_dtype(array.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using Stored = std::conditional_t<std::is_same_v<T, detail::Bool>, std::uint8_t, T>;
    const std::vector<Stored> elements = array.to_vector<Stored>();
    Printer<Stored>(out, array.shape(), elements).print(0, 0, array.size());
  });
  return out << ' ' << dtype_name(array.dtype()) << ' ' << array.device().str();
}

}  // namespace heddle
