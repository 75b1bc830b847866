#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle::device {

/// One direction of a simulated link.
struct LinkSpeed {
  double bytes_per_second = 0;          ///< 0: no limit
  std::chrono::nanoseconds latency{0};  ///< of each copy, before its first byte
  friend bool operator==(const LinkSpeed&, const LinkSpeed&) = default;
};

/// A simulated GPU: the machine it pretends to be part of, its links and its memory.
struct SimSpec {
  std::string preset;  ///< "" if none was named
  LinkSpeed host_to_device;
  LinkSpeed device_to_host;
  LinkSpeed peer;  ///< to and from each other simulated GPU
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
///   item   := "sim:" COUNT ["@" PRESET] ["?" option {"&" option}] | "cuda:" INDEX
///   option := "h2d=" SPEED | "d2h=" SPEED | "peer=" SPEED   SPEED: number and B/s KB/s MB/s GB/s
///           | "latency=" TIME                               TIME: number and us ms
///           | "memory=" SIZE                                SIZE: number and B KiB MiB GiB
///
/// "" means "auto". PRESET is one of pcie, p3.16xlarge, dgx-a100, hgx-h100 and sets the speeds and
/// the latency of the links; options are of each of the COUNT GPUs and win over the preset. Links
/// without a speed and a latency cost no time. A CUDA index may be named several times.
///
/// Throws std::invalid_argument, one line that quotes `text` and says what was expected.
GpuSpec parse_gpu_spec(std::string_view text);

/// The logical GPUs that `text` stands for on a machine with `cuda_devices()` CUDA GPUs, which is
/// called only if the answer matters. Throws as parse_gpu_spec, also for a CUDA GPU not there.
std::vector<LogicalGpu> logical_gpus(std::string_view text, int (*cuda_devices)());

}  // namespace heddle::device
