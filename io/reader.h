#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "heddle/shape.h"
#include "heddle/var.h"

namespace heddle::io {

/// The records of one source, shared by all pipelines over it.
///
/// Thread safety: immutable; every member may be called from any thread.
class Reader {
 public:
  Reader(std::int64_t size, Shape record_shape)
      : size_(size), record_shape_(std::move(record_shape)) {}
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::int64_t size() const { return size_; }
  const Shape& record_shape() const { return record_shape_; }

  /// What an operation that calls read() must name as read.
  virtual std::span<const Var> variables() const = 0;
  /// Writes record `id`, 0 <= id < size(): record_shape().size() values and the label.
  virtual void read(std::int64_t id, std::span<float> data, float& label) const = 0;
  /// A hint that record `id` will be read soon.
  virtual void prefetch(std::int64_t /*id*/) const {}
  /// From files, so far.
  virtual std::int64_t bytes_read() const = 0;

 private:
  std::int64_t size_;
  Shape record_shape_;
};

}  // namespace heddle::io
