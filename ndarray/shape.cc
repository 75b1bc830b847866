#include "heddle/shape.h"

#include <limits>
#include <stdexcept>

namespace heddle {

namespace detail {

void refuse_dimension(std::uint64_t value) {
  throw std::invalid_argument("[Shape] dimension " + std::to_string(value) + ": expected at most " +
                              std::to_string(std::numeric_limits<std::int64_t>::max()));
}

}  // namespace detail

std::int64_t* Shape::resize(std::size_t ndim) {
  ndim_ = static_cast<int>(ndim);
  if (ndim <= kFew) return few_.data();
  more_.resize(ndim);
  return more_.data();
}

Shape::Shape(std::initializer_list<detail::Dim> dims) {
  std::int64_t* to = resize(dims.size());
  for (const detail::Dim dim : dims) *to++ = dim.value();
  count_elements();
}

Shape::Shape(std::span<const std::int64_t> dims) {
  std::copy(dims.begin(), dims.end(), resize(dims.size()));
  count_elements();
}

void Shape::count_elements() {
  std::int64_t product = 1;  // without zeros, so that every part of a shape has a size too
  bool empty = false;
  for (const std::int64_t dim : dims()) {
    if (dim < 0) {
      throw std::invalid_argument("[Shape] " + str() + ": expected dimensions of 0 or more");
    }
    empty = empty || dim == 0;
    if (dim != 0 && product > std::numeric_limits<std::int64_t>::max() / dim) {
      throw std::invalid_argument("[Shape] " + str() + ": expected at most 2^63 - 1 elements");
    }
    if (dim != 0) product *= dim;
  }
  size_ = empty ? 0 : product;
}

std::int64_t Shape::dim(int i) const {
  const int index = i < 0 ? i + ndim() : i;
  if (index < 0 || index >= ndim()) {
    const std::string expected =
        ndim() == 0 ? "a shape with dimensions"
                    : std::to_string(-ndim()) + " to " + std::to_string(ndim() - 1);
    throw std::invalid_argument("[Shape::dim] " + std::to_string(i) + " of shape " + str() +
                                ": expected " + expected);
  }
  return dims()[static_cast<std::size_t>(index)];
}

std::string Shape::str() const {
  std::string text = "(";
  for (std::size_t i = 0; i < dims().size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims()[i]);
  }
  return text + ")";
}

}  // namespace heddle
