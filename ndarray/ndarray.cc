#include "heddle/ndarray.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "heddle/engine.h"

#include "engine/base/block_cache.h"
#include "engine/operation_scope.h"
#include "engine/recorder.h"
#include "ndarray/copy.h"
#include "ndarray/storage.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(const char* use, const std::string& what) {
  throw std::invalid_argument("[" + std::string(use) + "] " + what);
}

std::size_t count_bytes(const Shape& shape, DType dtype) {
  const auto width = static_cast<std::int64_t>(dtype_size(dtype));
  if (shape.size() > std::numeric_limits<std::int64_t>::max() / width) {
    refuse("NDArray", "shape " + shape.str() + " of " + dtype_name(dtype) +
                          ": expected at most 2^63 - 1 bytes");
  }
  return static_cast<std::size_t>(shape.size() * width);
}

}  // namespace

NDArray::NDArray(Shape shape, Device device, DType dtype)
    : storage_(std::allocate_shared<detail::Storage>(base::BlockAllocator<detail::Storage>(),
                                                     device, count_bytes(shape, dtype))),
      shape_(std::move(shape)),
      dtype_(dtype) {}

NDArray::NDArray(std::shared_ptr<detail::Storage> storage, Shape shape, std::int64_t offset,
                 DType dtype)
    : storage_(std::move(storage)), shape_(std::move(shape)), offset_(offset), dtype_(dtype) {}

NDArray NDArray::from_bytes(std::span<const std::byte> bytes, Shape shape, Device device,
                            DType dtype) {
  if (bytes.size() != count_bytes(shape, dtype)) {
    refuse("from", std::to_string(bytes.size() / dtype_size(dtype)) + " values for shape " +
                       shape.str() + ": expected " + std::to_string(shape.size()));
  }
  NDArray array(std::move(shape), device, dtype);
  if (array.storage_->host_accessible() && detail::Recorder::of(Engine::get()) != nullptr) {
    // Each run writes the values: others of the script may change the array in place.
    const auto kept = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    Engine::get().push(
        [array, kept] {
          if (!kept->empty()) std::memcpy(array.storage_->open(), kept->data(), kept->size());
        },
        {}, {array.var()},
        {.device = device, .name = "from", .overwrites = true, .bytes = 2 * bytes.size()});
  } else if (array.storage_->host_accessible()) {
    // Nobody else has the array yet, so it may be written here; the operation makes it a write.
    if (!bytes.empty()) std::memcpy(array.storage_->open(), bytes.data(), bytes.size());
    Engine::get().push([] {}, {}, {array.var()},
                       {.device = device, .name = "from", .overwrites = true});
  } else {
    const NDArray staged(array.shape(), Device::cpu_pinned(), dtype);
    if (!bytes.empty()) std::memcpy(staged.storage_->open(), bytes.data(), bytes.size());
    detail::copy(staged, array);
  }
  return array;
}

NDArray NDArray::from_bools(const std::vector<bool>& values, Shape shape, Device device) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  return from_bytes(std::as_bytes(std::span(bytes)), std::move(shape), device, DType::kBool);
}

void NDArray::check_not_empty(const char* use) const {
  if (storage_ == nullptr) refuse(use, "NDArray{} refers to nothing: expected an array");
}

void NDArray::check_element(DType asked, const char* use) const {
  check_not_empty(use);
  if (asked == dtype_ || (asked == DType::kUInt8 && dtype_ == DType::kBool)) return;
  refuse(use, "type " + std::string(dtype_name(asked)) + " for an array of " + dtype_name(dtype_) +
                  ": expected equal types; astype() converts");
}

const Shape& NDArray::shape() const {
  check_not_empty("shape");
  return shape_;
}

DType NDArray::dtype() const {
  check_not_empty("dtype");
  return dtype_;
}

Device NDArray::device() const {
  check_not_empty("device");
  return storage_->device();
}

const Var& NDArray::var() const {
  check_not_empty("var");
  return storage_->var();
}

NDArray NDArray::reshape(Shape shape) const {
  check_not_empty("reshape");
  if (shape.size() != size()) {
    refuse("reshape", "shape " + shape_.str() + " to " + shape.str() + ": expected " +
                          std::to_string(size()) + " elements");
  }
  return {storage_, std::move(shape), offset_, dtype_};
}

NDArray NDArray::reshape(std::initializer_list<detail::Dim> dims) const {
  check_not_empty("reshape");
  std::vector<std::int64_t> filled;
  for (const detail::Dim dim : dims) filled.push_back(dim.value());
  const auto open = std::find(filled.begin(), filled.end(), -1);
  if (open == filled.end()) return reshape(Shape(filled));
  const auto refuse_dims = [&](const std::string& expected) {
    std::string text;
    for (const detail::Dim dim : dims) {
      text += (text.empty() ? "" : ", ") + std::to_string(dim.value());
    }
    refuse("reshape", "shape " + shape_.str() + " to (" + text + "): expected " + expected);
  };
  *open = 1;
  if (std::find(filled.begin(), filled.end(), -1) != filled.end()) refuse_dims("-1 at most once");
  const std::int64_t others = Shape(filled).size();
  if (others == 0 || size() % others != 0) {
    refuse_dims("dimensions whose product divides " + std::to_string(size()));
  }
  *open = size() / others;
  return reshape(Shape(filled));
}

NDArray NDArray::slice(std::int64_t begin, std::int64_t end) const {
  check_not_empty("slice");
  const std::int64_t rows = ndim() > 0 ? shape_.dim(0) : 0;
  const std::int64_t first = begin < 0 ? begin + rows : begin;
  const std::int64_t last = end < 0 ? end + rows : end;
  if (ndim() == 0 || first < 0 || first > last || last > rows) {
    refuse("slice", std::to_string(begin) + " to " + std::to_string(end) + " of shape " +
                        shape_.str() + ": expected 0 <= begin <= end <= the first dimension");
  }
  std::vector<std::int64_t> dims(shape_.dims().begin(), shape_.dims().end());
  dims[0] = 1;
  const std::int64_t row = Shape(dims).size();
  dims[0] = last - first;
  return {storage_, Shape(dims), offset_ + first * row, dtype_};
}

NDArray NDArray::at(std::int64_t index) const {
  check_not_empty("at");
  const std::int64_t rows = ndim() > 0 ? shape_.dim(0) : 0;
  const std::int64_t row = index < 0 ? index + rows : index;
  if (row < 0 || row >= rows) {
    refuse("at", std::to_string(index) + " of shape " + shape_.str() +
                     ": expected an index of the first dimension");
  }
  Shape shape(shape_.dims().subspan(1));
  const std::int64_t begin = offset_ + row * shape.size();
  return {storage_, std::move(shape), begin, dtype_};
}

NDArray NDArray::to(Device device) const {
  check_not_empty("to");
  if (device == storage_->device()) return *this;
  NDArray result(shape_, device, dtype_);
  detail::copy(*this, result);
  return result;
}

NDArray NDArray::copy() const {
  check_not_empty("copy");
  NDArray result(shape_, device(), dtype_);
  detail::copy(*this, result);
  return result;
}

void NDArray::copy_from(const NDArray& source) const {
  check_not_empty("copy_from");
  source.check_not_empty("copy_from");
  if (source.shape_ != shape_ || source.dtype_ != dtype_) {
    refuse("copy_from", "source of shape " + source.shape_.str() + " and type " +
                            dtype_name(source.dtype_) + ": expected " + shape_.str() + " and " +
                            dtype_name(dtype_));
  }
  detail::copy(source, *this);
}

void NDArray::wait_to_read() const {
  check_not_empty("wait_to_read");
  Engine::get().wait_for_var(var());
}

void NDArray::wait_to_write() const {
  check_not_empty("wait_to_write");
  Engine::get().wait_for_var_unused(var());
}

void NDArray::read_bytes(std::span<std::byte> bytes) const {
  if (bytes.size() != count_bytes(shape_, dtype_)) {
    refuse("item", "shape " + shape_.str() + ": expected one element");
  }
  // Inside an operation, or a script that is recorded, the wait throws: before a copy is pushed in
  // vain.
  if (detail::OperationScope::current() != nullptr ||
      detail::Recorder::of(Engine::get()) != nullptr) {
    wait_to_read();
  }
  const NDArray host = storage_->host_accessible() ? *this : to(Device::cpu());
  host.wait_to_read();
  if (!bytes.empty()) std::memcpy(bytes.data(), host.raw_data(detail::Touch::kRead), bytes.size());
}

void* NDArray::raw_data(detail::Touch touch) const {
  return storage_->open(touch, static_cast<std::size_t>(offset_) * dtype_size(dtype_),
                        count_bytes(shape_, dtype_));
}

}  // namespace heddle
