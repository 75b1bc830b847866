#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/gpu_spec.h"
#include "engine/model_op.h"

namespace heddle::detail {

/// When an operation runs on the machine that the simulated GPUs imitate, in nanoseconds.
struct ModelTime {
  std::int64_t start = 0;
  std::int64_t end = 0;
  /// When it could end if nothing ever waited for a lane or a link: the time of the longest chain
  /// of operations, and waits of threads, that ends with it.
  std::int64_t chain = 0;
  friend bool operator==(const ModelTime&, const ModelTime&) = default;
};

/// How long `op` takes in nanoseconds, rounded:
///
///  - a copy from one device to another: latency + bytes / bandwidth of the link (the linear model
///    of Hockney, "The communication challenge for MPP", 1994);
///  - anything else: launch + max(flops / peak flops, bytes / memory bandwidth) of its device (the
///    roofline of Williams, Waterman and Patterson, CACM 52(4), 2009). The CPU counts as cores of
///    50 GFLOP/s and 10 GB/s, one for each operation;
///  - what has neither flops nor bytes, and what runs on a real GPU: nothing;
///  - what makes copies: their sum.
std::int64_t model_cost(const ModelOp& op, std::span<const device::LogicalGpu> gpus);

/// The times of `ops`, which are in order of sequence: list scheduling (Graham, 1969) as the engine
/// does it, from time 0 on. An operation is ready when those that it conflicts with have ended, and
/// so has what its thread had waited for before the push; apart from that pushing takes no time.
/// Each (device, lane) runs one operation at a time, of the ready ones that with the highest
/// priority and then the lowest sequence; what an operation waits for is as urgent as that, from
/// its push on. A copy also takes its link, and holds its lane while another lane's copy has that.
/// Compute operations of the CPU wait for no worker, as how many there are is the host's affair;
/// what takes no time waits for no lane. Nothing is issued ahead: in the engine what stands in a
/// stream (see compute_window) goes before what becomes ready later.
///
/// A function of its arguments, integers but for the rounding in model_cost(): neither the order
/// in which the operations ran nor any clock of the host goes in.
std::vector<ModelTime> model_times(std::span<const ModelOp> ops, std::vector<ModelWait> waits,
                                   std::span<const device::LogicalGpu> gpus);

}  // namespace heddle::detail
