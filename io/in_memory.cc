#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "heddle/io.h"
#include "heddle/ndarray.h"

#include "io/reader.h"

namespace heddle::io {
namespace {

class ArrayReader final : public Reader {
 public:
  ArrayReader(NDArray data, NDArray label, Shape record_shape)
      : Reader(data.shape().dim(0), std::move(record_shape)),
        data_(std::move(data)),
        label_(std::move(label)),
        variables_{data_.var(), label_.var()} {}

  std::span<const Var> variables() const override { return variables_; }

  void read(std::int64_t id, std::span<float> data, float& label) const override {
    const float* row = data_.data<const float>() + id * static_cast<std::int64_t>(data.size());
    std::copy_n(row, data.size(), data.begin());
    label = label_.data<const float>()[id];
  }

  std::int64_t bytes_read() const override { return 0; }

 private:
  NDArray data_;
  NDArray label_;
  std::array<Var, 2> variables_;
};

/// An array of its own, float32 and on the CPU.
NDArray snapshot(const NDArray& array) {
  if (array.device() == Device::cpu() && array.dtype() == DType::kFloat32) return array.copy();
  return array.to(Device::cpu()).astype(DType::kFloat32);
}

}  // namespace

Source in_memory(const NDArray& data, const NDArray& label) {
  const Shape& shape = data.shape();
  if (shape.ndim() < 2 || shape.size() == 0) {
    throw std::invalid_argument("[in_memory] data of shape " + shape.str() +
                                ": expected N x C x H x W or N x F, with elements");
  }
  const std::int64_t records = shape.dim(0);
  if (label.shape() != Shape{records} && label.shape() != Shape{records, 1}) {
    throw std::invalid_argument("[in_memory] label of shape " + label.shape().str() +
                                ": expected " + Shape{records}.str() +
                                ", one value for each row of the data");
  }
  return Source(std::make_shared<const ArrayReader>(snapshot(data), snapshot(label),
                                                    Shape(shape.dims().subspan(1))));
}

}  // namespace heddle::io
