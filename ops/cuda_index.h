#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "engine/device/cuda_kernel.h"
#include "engine/device/cuda_memory.h"
#include "ops/index.h"

// For .cu files: an IndexReader for kernels.

namespace heddle::ops {

/// What a kernel found wrong, in memory that the host reads when the operation ends.
struct IndexFault {
  unsigned long long place = 0;  // 1 + the position; 0: nothing is wrong
  double value = 0;
};

/// Reads elements as IndexReader does. The operation fails, at its end, with the error of an
/// element that is none, for which the kernel gets 0.
class CudaIndices {
 public:
  /// For kernels of the step `on`.
  CudaIndices(device::CudaLaunch& on, const IndexReader& reader)
      : elements_(reader.elements()), dtype_(reader.dtype()), limit_(reader.limit()) {
    device::PinnedBuffer buffer(sizeof(IndexFault));
    // Page-locked memory has the same address on the device.
    fault_ = static_cast<IndexFault*>(buffer.data());
    *fault_ = IndexFault{};
    on.at_end([reader, kept = std::move(buffer)] {
      IndexFault found;
      std::memcpy(&found, kept.data(), sizeof(found));
      if (found.place != 0) reader.fail(found.value, static_cast<std::int64_t>(found.place - 1));
    });
  }

  __device__ std::int64_t operator[](std::int64_t i) const {
    switch (dtype_) {
      case DType::kInt64:
        return read<std::int64_t>(i);
      case DType::kInt32:
        return read<std::int32_t>(i);
      case DType::kInt8:
        return read<std::int8_t>(i);
      case DType::kFloat32:
        return read<float>(i);
      case DType::kFloat64:
        return read<double>(i);
      default:
        return read<std::uint8_t>(i);
    }
  }

 private:
  template <class T>
  __device__ std::int64_t read(std::int64_t i) const {
    const T value = static_cast<const T*>(elements_)[i];
    if (is_index(value, limit_)) return static_cast<std::int64_t>(value);
    if (atomicCAS(&fault_->place, 0ULL, static_cast<unsigned long long>(i) + 1) == 0) {
      fault_->value = static_cast<double>(value);
    }
    return 0;
  }

  const void* elements_;
  DType dtype_;
  std::int64_t limit_;
  IndexFault* fault_;
};

}  // namespace heddle::ops
