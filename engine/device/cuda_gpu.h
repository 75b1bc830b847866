#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "heddle/trace.h"

#include "engine/base/sync.h"
#include "engine/device/memory_pool.h"

namespace heddle::device {

class CudaEarlyBlocks;
class CudaPages;

/// The GPUs of CUDA that can be used: 0 without a driver.
int count_cuda_gpus();

/// One physical GPU: its memory and what it can still be trusted with. Logical devices share it.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants:
/// - is_lost_ goes from false to true once, under mutex_, after loss_ is set; who reads true with
///   acquire order sees loss_, which does not change any more.
class CudaGpu {
 public:
  static constexpr int kMaxGpus = 64;

  /// The GPU of a CUDA ordinal below count_cuda_gpus(). Made by the first call and never destroyed.
  /// Throws DeviceError if CUDA cannot be started on it.
  static CudaGpu& get(int index);
  /// The one that was made first; there must be one.
  static const CudaGpu& first();
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;

  int index() const { return index_; }
  /// "NVIDIA H200"
  const std::string& name() const { return name_; }
  /// Bytes of device memory that the card has.
  std::size_t memory_size() const { return memory_size_; }
  /// Device memory; blocks may be used again on any stream, as they come back when all work on
  /// them is done.
  MemoryPool& memory() { return *memory_; }
  /// Those that came back earlier.
  CudaEarlyBlocks& early_blocks() { return *early_blocks_; }
  /// False with RuntimeOptions::debug_memory, as what the pool does then to each block that it
  /// hands out needs the pool in between.
  bool frees_early() const { return frees_early_; }
  /// For cudaStreamCreateWithPriority.
  int stream_priority(Lane lane) const;

  /// Throws what a call of CUDA other than success stands for: OutOfMemory, or DeviceError with the
  /// name of the call and CUDA's text. An error that CUDA does not recover from makes the GPU lost.
  void check(cudaError_t result, const char* call);

  /// Throws DeviceError if the GPU is lost.
  void check_usable() const;
  bool is_lost() const noexcept { return is_lost_.load(std::memory_order_acquire); }
  /// True for errors after which every further call of the process on the GPU fails.
  static bool is_sticky(cudaError_t error);
  /// Marks the GPU as lost because of what `call` returned; the first loss counts.
  void lose(cudaError_t result, const char* call) noexcept;
  /// What to throw for work on a lost GPU.
  std::exception_ptr loss() const noexcept;

  /// Held by the one piece that is on the GPU, where only one may be: see CudaTurn.
  base::Mutex& turn() { return turn_; }

  /// Lets this GPU and `other` copy to each other directly, if they can.
  void enable_peer(const CudaGpu& other) noexcept;

 private:
  explicit CudaGpu(int index);

  const int index_;
  const bool frees_early_;
  std::string name_;
  int least_priority_ = 0;
  int greatest_priority_ = 0;
  std::size_t memory_size_ = 0;
  std::shared_ptr<CudaPages> pages_;  ///< that memory_ is made of; null: there are none
  std::unique_ptr<MemoryPool> memory_;
  std::unique_ptr<CudaEarlyBlocks> early_blocks_;
  base::Mutex turn_;
  base::Mutex mutex_;
  std::string loss_;
  base::Atomic<bool> is_lost_{false};
  base::Mutex peer_mutex_;
  base::Atomic<bool> peers_[kMaxGpus] = {};  ///< asked for already
};

/// Makes a GPU the calling thread's current one for as long as the object lives.
class CudaCurrent {
 public:
  explicit CudaCurrent(const CudaGpu& gpu) noexcept;
  ~CudaCurrent();
  CudaCurrent(const CudaCurrent&) = delete;
  CudaCurrent& operator=(const CudaCurrent&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

}  // namespace heddle::device
