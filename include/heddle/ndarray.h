#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/device.h"
#include "heddle/dtype.h"
#include "heddle/scalar.h"
#include "heddle/shape.h"
#include "heddle/var.h"

namespace heddle {

namespace detail {
class Storage;

/// What a pointer to elements is for.
enum class Touch : std::uint8_t { kRead, kWrite, kReadOrWrite };
}  // namespace detail

/// A handle to a block of elements on one device and the variable that orders access to it.
///
/// Copies and views share the elements. Everything returns at once and takes its place in the
/// program through the default engine, except what stands under "Blocking". A shape, type or
/// device that does not fit is std::invalid_argument at the call; so is any use of NDArray{}.
/// Memory is taken when the elements are first touched and given back by an operation.
///
/// Thread safety: that of std::shared_ptr. Several threads may use handles to the same elements;
/// one handle may be assigned only while no other thread uses it.
class NDArray {
  template <class T>
  static constexpr bool is_source = Element<T> || std::same_as<T, bool>;

 public:
  /// Refers to nothing.
  NDArray() = default;
  /// Elements are uninitialized.
  explicit NDArray(Shape shape, Device device = current_device(), DType dtype = DType::kFloat32);

  static NDArray zeros(Shape shape, Device device = current_device(),
                       DType dtype = DType::kFloat32);
  static NDArray ones(Shape shape, Device device = current_device(), DType dtype = DType::kFloat32);
  static NDArray full(Shape shape, Scalar value, Device device = current_device(),
                      DType dtype = DType::kFloat32);
  /// start, start + step, … up to but without stop: ceil((stop - start) / step) elements.
  static NDArray arange(Scalar start, Scalar stop, Scalar step = 1,
                        Device device = current_device(), DType dtype = DType::kFloat32);

  /// Copies `values`, row-major, before it returns. Their number must be shape.size(). bool makes
  /// kBool.
  template <class T, std::size_t N>
  requires is_source<T>
  static NDArray from(std::span<const T, N> values, Shape shape, Device device = current_device()) {
    return from_bytes(std::as_bytes(values), std::move(shape), device, source_dtype<T>());
  }
  template <class T, std::size_t N>
  requires is_source<T>
  static NDArray from(std::span<T, N> values, Shape shape, Device device = current_device()) {
    return from(std::span<const T>(values), std::move(shape), device);
  }
  template <class T>
  requires is_source<T>
  static NDArray from(std::initializer_list<T> values, Shape shape,
                      Device device = current_device()) {
    return from(std::span<const T>(values.begin(), values.size()), std::move(shape), device);
  }
  template <Element T>
  static NDArray from(const std::vector<T>& values, Shape shape, Device device = current_device()) {
    return from(std::span<const T>(values), std::move(shape), device);
  }
  template <std::same_as<bool> T>
  static NDArray from(const std::vector<T>& values, Shape shape, Device device = current_device()) {
    return from_bools(values, std::move(shape), device);
  }

  /// False for NDArray{}.
  explicit operator bool() const { return storage_ != nullptr; }

  // Known at once.
  const Shape& shape() const;
  int ndim() const { return shape().ndim(); }
  std::int64_t size() const { return shape().size(); }
  DType dtype() const;
  Device device() const;
  const Var& var() const;

  // Views: same elements, same variable.
  /// One dimension may be -1: whatever makes the sizes equal.
  NDArray reshape(Shape shape) const;
  NDArray reshape(std::initializer_list<detail::Dim> dims) const;
  /// Rows begin <= i < end of the first axis; negative ones count from the end, which is
  /// shape()[0]. Other than 0 <= begin <= end <= shape()[0] is std::invalid_argument.
  NDArray slice(std::int64_t begin, std::int64_t end) const;
  /// Row `index` of the first axis, without that axis.
  NDArray at(std::int64_t index) const;

  // Asynchronous.
  /// The array itself if it is on `device` already, else a copy there.
  NDArray to(Device device) const;
  /// The array itself if it has `dtype` already, else converted. Fractions become integers by
  /// truncation, and integers that do not fit wrap; what 64 bits cannot hold and NaN give an
  /// unspecified integer. Everything but 0 is true.
  NDArray astype(DType dtype) const;
  NDArray copy() const;
  /// Writes every element of this array. Shapes and types must be equal; devices may differ.
  void copy_from(const NDArray& source) const;

  // Blocking. The OpError that poisons the array is thrown here. Elements on the CPU are read by
  // the calling thread: until it has them, no other thread may push a write of the array.
  void wait_to_read() const;
  /// Waits for earlier reads too.
  void wait_to_write() const;
  /// `T` must be the element type exactly (std::uint8_t for kBool).
  template <Element T>
  std::vector<T> to_vector() const {
    check_element(dtype_of<T>, "to_vector");
    std::vector<T> values(static_cast<std::size_t>(size()));
    read_bytes(std::as_writable_bytes(std::span<T>(values)));
    return values;
  }
  /// The only element of an array of size 1.
  template <Element T>
  T item() const {
    check_element(dtype_of<T>, "item");
    T value{};
    read_bytes(std::as_writable_bytes(std::span<T>(&value, 1)));
    return value;
  }

  /// The first element, for use inside an operation that names var() and keeps a handle. Outside
  /// of operations it throws Error for an array on a GPU; on the CPU the caller must have waited.
  /// data<const T>() says that the elements are only read. See EngineOptions::access_check.
  template <class T>
  requires Element<std::remove_const_t<T>> T* data() const {
    check_element(dtype_of<std::remove_const_t<T>>, "data");
    return static_cast<T*>(
        raw_data(std::is_const_v<T> ? detail::Touch::kRead : detail::Touch::kReadOrWrite));
  }

  NDArray operator-() const;
  // In place, with the rules of ops.h; but the result has this shape, to which only `rhs` is
  // broadcast, and must be of a type that this one can hold.
  NDArray& operator+=(const NDArray& rhs);
  NDArray& operator-=(const NDArray& rhs);
  NDArray& operator*=(const NDArray& rhs);
  NDArray& operator/=(const NDArray& rhs);
  NDArray& operator+=(Scalar rhs);
  NDArray& operator-=(Scalar rhs);
  NDArray& operator*=(Scalar rhs);
  NDArray& operator/=(Scalar rhs);

 private:
  friend class ArrayAccess;  // ndarray/array_access.h: what the other folders may see
  NDArray(std::shared_ptr<detail::Storage> storage, Shape shape, std::int64_t offset, DType dtype);

  static NDArray from_bytes(std::span<const std::byte> bytes, Shape shape, Device device,
                            DType dtype);
  static NDArray from_bools(const std::vector<bool>& values, Shape shape, Device device);
  template <class T>
  static constexpr DType source_dtype() {
    if constexpr (std::same_as<T, bool>) {
      return DType::kBool;
    } else {
      return dtype_of<T>;
    }
  }

  void check_not_empty(const char* use) const;
  void check_element(DType asked, const char* use) const;
  void read_bytes(std::span<std::byte> bytes) const;
  void* raw_data(detail::Touch touch) const;

  std::shared_ptr<detail::Storage> storage_;
  Shape shape_;
  std::int64_t offset_ = 0;  // elements from the start of the block
  DType dtype_ = DType::kFloat32;
};

// Element by element, broadcasting and promoting types as NumPy 2 does.
NDArray operator+(const NDArray& a, const NDArray& b);
NDArray operator-(const NDArray& a, const NDArray& b);
NDArray operator*(const NDArray& a, const NDArray& b);
NDArray operator/(const NDArray& a, const NDArray& b);
NDArray operator+(const NDArray& a, Scalar b);
NDArray operator-(const NDArray& a, Scalar b);
NDArray operator*(const NDArray& a, Scalar b);
NDArray operator/(const NDArray& a, Scalar b);
NDArray operator+(Scalar a, const NDArray& b);
NDArray operator-(Scalar a, const NDArray& b);
NDArray operator*(Scalar a, const NDArray& b);
NDArray operator/(Scalar a, const NDArray& b);

/// "[[1, 2],\n [3, 4]] float32 cpu(0)", long axes shortened. Blocks as to_vector() does.
std::ostream& operator<<(std::ostream& out, const NDArray& array);

}  // namespace heddle
