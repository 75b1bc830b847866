#include "ops/cuda_blas.h"

#include <memory>
#include <string>

#include <cublas_v2.h>
#include <dlfcn.h>

#include "heddle/error.h"

#include "engine/device/cuda_early_blocks.h"
#include "engine/device/memory_pool.h"

namespace heddle::ops {
namespace {

/// The functions of cuBLAS that are used. It is not linked, as that would cost every program a
/// tenth of a second at its start.
struct CuBlas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasGetStatusString) status_string;
  decltype(&cublasSgemm_v2) sgemm;
  decltype(&cublasDgemm_v2) dgemm;
};

void* open_library() {
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  for (const std::string& path : {name, std::string(HEDDLE_CUDA_LIBRARY_DIR) + "/" + name}) {
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  const char* const reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
  throw Error("[matmul] cuBLAS cannot be opened: " +
              std::string(reason != nullptr ? reason : name.c_str()));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw Error("[matmul] cuBLAS has no " + std::string(name));
}

const CuBlas& cublas() {
  static const CuBlas functions = [] {
    void* const library = open_library();
    CuBlas found{};
    find(library, "cublasCreate_v2", found.create);
    find(library, "cublasDestroy_v2", found.destroy);
    find(library, "cublasSetStream_v2", found.set_stream);
    find(library, "cublasSetWorkspace_v2", found.set_workspace);
    find(library, "cublasGetStatusString", found.status_string);
    find(library, "cublasSgemm_v2", found.sgemm);
    find(library, "cublasDgemm_v2", found.dgemm);
    return found;
  }();
  return functions;
}

void check(const device::CudaLaunch& on, cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  on.check(cudaGetLastError(), call);  // what cuBLAS met, if it was an error of CUDA
  on.fail(std::string(call) + ": " + cublas().status_string(status));
}

/// A handle and the memory that it works with. If it had to, cuBLAS would take some in the order of
/// the stream, which a graph cannot be brought up to date with.
///
/// It belongs to a stream: as that one's work is enqueued by one thread at a time, so are the calls
/// with the handle.
class BlasHandle {
 public:
  explicit BlasHandle(const device::CudaLaunch& on)
      : pool_(on.gpu().memory()),
        bytes_(workspace_of(on)),
        block_(on.gpu().early_blocks().allocate(bytes_ + kAlignment)),
        workspace_(aligned(block_)) {
    try {
      check(on, cublas().create(&handle_), "cublasCreate");
    } catch (...) {
      pool_.deallocate(block_, bytes_ + kAlignment);
      throw;
    }
  }
  ~BlasHandle() {
    cublas().destroy(handle_);
    pool_.deallocate(block_, bytes_ + kAlignment);
  }
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;

  /// For what is enqueued where `on` does, which may be captured or not.
  cublasHandle_t get(const device::CudaLaunch& on) {
    if (stream_ != on.stream()) {
      check(on, cublas().set_stream(handle_, on.stream()), "cublasSetStream");
      check(on, cublas().set_workspace(handle_, workspace_, bytes_), "cublasSetWorkspace");
      stream_ = on.stream();
    }
    return handle_;
  }

 private:
  static constexpr std::size_t kAlignment = 256;  // that cuBLAS wants

  static void* aligned(void* block) {
    std::size_t space = 2 * kAlignment;
    return std::align(kAlignment, kAlignment, block, space);
  }
  /// What NVIDIA recommends.
  static std::size_t workspace_of(const device::CudaLaunch& on) {
    int major = 0;
    on.check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, on.gpu().index()),
             "cudaDeviceGetAttribute");
    return std::size_t{major >= 9 ? 32U : 4U} << 20U;
  }

  device::MemoryPool& pool_;
  const std::size_t bytes_;
  void* const block_;
  void* const workspace_;
  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;  // no stream of an operation is null
};

cublasHandle_t handle_of(const device::CudaLaunch& on) {
  std::shared_ptr<void>& attachment = on.attachment();
  if (attachment == nullptr) attachment = std::make_shared<BlasHandle>(on);
  return static_cast<BlasHandle*>(attachment.get())->get(on);
}

/// cuBLAS takes columns where the arrays have rows: it sees their transposes, so the product of
/// the transposes in the other order is the transpose of the product.
template <class T, class Gemm>
void multiply(device::CudaLaunch& on, const char* call, Gemm gemm, const MatmulSizes& sizes,
              const T* a, const T* b, T* c, bool accumulate) {
  if (sizes.m == 0 || sizes.n == 0) return;
  if (sizes.k == 0) {
    if (accumulate) return;
    const std::size_t bytes = static_cast<std::size_t>(sizes.m * sizes.n) * sizeof(T);
    return on.check(cudaMemsetAsync(c, 0, bytes, on.stream()), "cudaMemsetAsync");
  }
  const T one = 1;
  const T factor = accumulate ? T{1} : T{0};
  const auto m = static_cast<int>(sizes.m);
  const auto n = static_cast<int>(sizes.n);
  const auto k = static_cast<int>(sizes.k);
  const cublasHandle_t handle = handle_of(on);
  const cublasOperation_t op_a = sizes.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = sizes.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(on,
        gemm(handle, op_b, op_a, n, m, k, &one, b, sizes.transpose_b ? k : n, a,
             sizes.transpose_a ? m : k, &factor, c, n),
        call);
}

}  // namespace

void cuda_matmul(device::CudaLaunch& on, const MatmulSizes& sizes, const float* a, const float* b,
                 float* c, bool accumulate) {
  multiply(on, "cublasSgemm", cublas().sgemm, sizes, a, b, c, accumulate);
}

void cuda_matmul(device::CudaLaunch& on, const MatmulSizes& sizes, const double* a, const double* b,
                 double* c, bool accumulate) {
  multiply(on, "cublasDgemm", cublas().dgemm, sizes, a, b, c, accumulate);
}

}  // namespace heddle::ops
