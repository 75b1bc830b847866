#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/device/machine.h"

namespace heddle::device {

/// A simulated GPU: the machine it pretends to be part of, its links and its memory.
struct SimSpec {
  std::string preset = {};  ///< or the path of its topology file; "" if none was named
  LinkSpeed host_to_device = {};
  LinkSpeed device_to_host = {};
  LinkSpeed peer = {};  ///< to and from each other simulated GPU
  ComputeSpeed compute = {};
  /// To the GPUs of its machine instead: to logical GPU first + i, link i. Empty: there are none.
  std::vector<LinkSpeed> peers = {};
  std::size_t first = 0;
  std::size_t memory = std::size_t{8} << 30U;
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
///
/// "" means "auto". MACHINE is one of pcie, p3.16xlarge, dgx-a100, hgx-h100, or the path of a
/// topology file (see parse_machine()), which has a "/" and no "," or "?". The item is then the
/// first COUNT GPUs of that machine, with its links and speeds; options are of each of them and win
/// over the machine. Links without a speed and a latency cost no time, nor does computing without a
/// rate on the model clock. A CUDA index may be named several times.
///
/// Reads the topology file. Throws std::invalid_argument, one line that quotes `text` and says what
/// was expected.
GpuSpec parse_gpu_spec(std::string_view text);

/// The logical GPUs that `text` stands for on a machine with `cuda_devices()` CUDA GPUs, which is
/// called only if the answer matters. Throws as parse_gpu_spec, also for a CUDA GPU not there.
std::vector<LogicalGpu> logical_gpus(std::string_view text, int (*cuda_devices)());

}  // namespace heddle::device
