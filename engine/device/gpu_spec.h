#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/device/machine.h"

namespace heddle::device {

/// What goes wrong on a simulated GPU (see SimFaults). Numbers begin at 1; 0: never.
struct SimFaultSpec {
  std::chrono::nanoseconds jitter{0};  ///< most by which an operation of its streams is late
  std::uint64_t fail_alloc = 0;        ///< each so-manieth allocation finds no memory
  std::uint64_t fail_launch = 0;       ///< each so-manieth operation issued to its streams fails
  std::uint64_t lost_after = 0;        ///< from this operation on the GPU is lost
  friend bool operator==(const SimFaultSpec&, const SimFaultSpec&) = default;
};

/// A simulated GPU: the machine it pretends to be part of, its links, memory and faults.
struct SimSpec {
  std::string preset = {};  ///< or the path of its topology file; "" if none was named
  LinkSpeed host_to_device = {};
  LinkSpeed device_to_host = {};
  LinkSpeed peer = {};  ///< to and from each other simulated GPU
  ComputeSpeed compute = {};
  /// To the GPUs of its machine instead: to logical GPU first + i, link i. Empty: there are none.
  std::vector<LinkSpeed> peers = {};
  std::size_t first = 0;
  /// The logical GPU whose links to and from the host are this one's, too; none: they are its own.
  std::optional<std::size_t> port = {};
  std::size_t memory = std::size_t{8} << 30U;
  SimFaultSpec faults = {};
  friend bool operator==(const SimSpec&, const SimSpec&) = default;
};

/// A real GPU, by its CUDA ordinal.
struct CudaSpec {
  int index = 0;
  friend bool operator==(const CudaSpec&, const CudaSpec&) = default;
};

using LogicalGpu = std::variant<SimSpec, CudaSpec>;

struct GpuSpec {
  bool automatic = false;        ///< every CUDA GPU there is; `gpus` is empty
  std::vector<LogicalGpu> gpus;  ///< logical GPU i is element i
};

inline constexpr int kMaxLogicalGpus = 64;

/// Parses the value of HEDDLE_GPUS:
///
///   spec   := "" | "auto" | "none" | item {"," item}
///   item   := "sim:" COUNT ["@" MACHINE] ["?" option {"&" option}] | "cuda:" INDEX
///   option := "h2d=" SPEED | "d2h=" SPEED | "peer=" SPEED   SPEED: number and B/s KB/s MB/s GB/s
///           | "hbm=" SPEED                                  of the GPU's own memory
///           | "flops=" RATE                                 RATE: number and M, G or TFLOP/s
///           | "latency=" TIME                               TIME: number and us ms
///           | "memory=" SIZE                                SIZE: number and B KiB MiB GiB
///           | "jitter=" TIME                                most by which an operation is late
///           | "fail_alloc=" N | "fail_launch=" N            each Nth allocation, operation fails
///           | "lost_after=" N                               from the Nth operation on it is lost
///
/// "" means "auto". MACHINE is one of pcie, p3.16xlarge, dgx-a100, hgx-h100, or the path of a
/// topology file (see parse_machine()), which has a "/" and no "," or "?". The item is then the
/// first COUNT GPUs of that machine, with its links and speeds; options are of each of them and win
/// over the machine. Links without a speed and a latency cost no time, nor does computing without a
/// rate on the model clock. A CUDA index may be named several times.
///
/// Faults are of each GPU of the item, which counts for itself. An operation is late by a time that
/// HEDDLE_SEED, the GPU and the operation's number choose. One that finds no memory waits for what
/// others give back, as if the GPU were full, and fails with OutOfMemory; to try again is no new
/// allocation. A lost GPU fails what is in flight on it, what follows, and whoever touches its
/// memory. Only streams count operations: engines that have none (kNaive, kExplore) lose no GPU and
/// fail and delay no operation, but meet allocations that fail and GPUs that others have lost.
///
/// Reads the topology file. Throws std::invalid_argument, one line that names the `setting` that
/// `text` is of, quotes that and says what was expected.
GpuSpec parse_gpu_spec(std::string_view text, std::string_view setting = "HEDDLE_GPUS");

/// The logical GPUs that `text` stands for on a machine with `cuda_devices()` CUDA GPUs, which is
/// called only if the answer matters. Throws as parse_gpu_spec, also for a CUDA GPU not there.
std::vector<LogicalGpu> logical_gpus(std::string_view text, int (*cuda_devices)(),
                                     std::string_view setting = "HEDDLE_GPUS");

}  // namespace heddle::device
