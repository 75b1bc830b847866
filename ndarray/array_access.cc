#include "ndarray/array_access.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "ndarray/storage.h"

namespace heddle {

void* ArrayAccess::address(const NDArray& array) {
  array.check_not_empty("data");
  return array.raw_data(detail::Touch::kWrite);
}

const void* ArrayAccess::const_address(const NDArray& array) {
  array.check_not_empty("data");
  return array.raw_data(detail::Touch::kRead);
}

NDArray ArrayAccess::view(const NDArray& array, Shape shape, std::int64_t begin, const char* use) {
  array.check_not_empty(use);
  if (begin < 0 || begin > array.size() || shape.size() > array.size() - begin) {
    throw std::invalid_argument("[" + std::string(use) + "] shape " + shape.str() +
                                " from element " + std::to_string(begin) + " of shape " +
                                array.shape().str() + ": expected elements of that array");
  }
  return {array.storage_, std::move(shape), array.offset_ + begin, array.dtype_};
}

bool ArrayAccess::share_block(const NDArray& a, const NDArray& b) {
  return storage(a) == storage(b);
}

bool ArrayAccess::covers_block(const NDArray& array) {
  return static_cast<std::size_t>(array.size()) * dtype_size(array.dtype()) ==
         storage(array)->bytes();
}

const std::shared_ptr<detail::Storage>& ArrayAccess::storage(const NDArray& array) {
  array.check_not_empty("storage");
  return array.storage_;
}

std::size_t ArrayAccess::begin_byte(const NDArray& array) {
  return static_cast<std::size_t>(array.offset_) * dtype_size(array.dtype());
}

}  // namespace heddle
