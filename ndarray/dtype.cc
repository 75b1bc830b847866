#include "heddle/dtype.h"

#include "ndarray/dispatch.h"

namespace heddle {

std::size_t dtype_size(DType dtype) {
  return detail::visit_dtype(dtype,
                             [](auto type) { return sizeof(typename decltype(type)::type); });
}

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kFloat16:
      return "float16";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kInt8:
      return "int8";
    case DType::kUInt8:
      return "uint8";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
    case DType::kBool:
      return "bool";
  }
  return "unknown";
}

}  // namespace heddle
