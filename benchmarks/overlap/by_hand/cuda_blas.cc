#include "overlap/by_hand/cuda_blas.h"

#include <string>

#include <dlfcn.h>
#include <heddle/heddle.h>

namespace bench::overlap::by_hand {
namespace {

/// What is used of it. As in the library it is not linked, so that a machine without it will do.
struct Functions {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSgemm_v2) sgemm;
};

void* open_library() {
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  for (const std::string& path : {name, std::string(HEDDLE_CUDA_LIBRARY_DIR) + "/" + name}) {
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw heddle::Error("[by hand] " + name + " cannot be opened");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw heddle::Error("[by hand] cuBLAS has no " + std::string(name));
}

const Functions& cublas() {
  static const Functions functions = [] {
    void* const library = open_library();
    Functions found{};
    find(library, "cublasCreate_v2", found.create);
    find(library, "cublasDestroy_v2", found.destroy);
    find(library, "cublasSetStream_v2", found.set_stream);
    find(library, "cublasSgemm_v2", found.sgemm);
    return found;
  }();
  return functions;
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw heddle::DeviceError("[by hand] " + std::string(call) + " returned " +
                            std::to_string(static_cast<int>(status)));
}

}  // namespace

CuBlas::CuBlas(cudaStream_t stream) {
  check(cublas().create(&handle_), "cublasCreate");
  check(cublas().set_stream(handle_, stream), "cublasSetStream");
}

CuBlas::~CuBlas() { cublas().destroy(handle_); }

void CuBlas::multiply(const heddle::ops::MatmulSizes& sizes, const float* a, const float* b,
                      float* c, bool accumulate) const {
  const float one = 1;
  const float factor = accumulate ? 1 : 0;
  const auto m = static_cast<int>(sizes.m);
  const auto n = static_cast<int>(sizes.n);
  const auto k = static_cast<int>(sizes.k);
  const cublasOperation_t op_a = sizes.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = sizes.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  // It takes columns where these are rows: it sees transposes, and multiplies them the other way.
  check(cublas().sgemm(handle_, op_b, op_a, n, m, k, &one, b, sizes.transpose_b ? k : n, a,
                       sizes.transpose_a ? m : k, &factor, c, n),
        "cublasSgemm");
}

}  // namespace bench::overlap::by_hand
