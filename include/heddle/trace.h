#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "heddle/device.h"

namespace heddle {

/// The queues of a device. Operations of different lanes overlap. On the CPU kCompute runs as many
/// at a time as there are workers (EngineOptions::cpu_workers), any other lane one; on kPooled all
/// but kBlocking share the workers. Each lane of a GPU is a stream.
enum class Lane : std::uint8_t {
  kCompute,
  kCopyIn,    ///< to the device
  kCopyOut,   ///< from it
  kComm,      ///< between devices, as a store does
  kBlocking,  ///< what may sleep, as reading files does
};

/// "compute", "copy_in", "copy_out", "comm", "blocking".
const char* lane_name(Lane lane);

enum class Outcome : std::uint8_t {
  kCompleted,
  kFailed,
  kSkipped,    ///< met the poison of one that failed
  kCancelled,  ///< by a group or a shutdown, or met the poison of one that was
};

/// The life of one operation. Times are nanoseconds of std::chrono::steady_clock; those of a phase
/// that the operation never reached (it was skipped) equal `done`.
struct OpRecord {
  std::uint64_t sequence = 0;
  std::string name;
  Device device;
  Lane lane = Lane::kCompute;
  Outcome outcome = Outcome::kCompleted;
  std::int64_t pushed = 0;
  std::int64_t ready = 0;    ///< nothing to wait for any more but a place in its lane
  std::int64_t issued = 0;   ///< given to its stream; on the CPU equal to `started`
  std::int64_t started = 0;  ///< began to run
  std::int64_t done = 0;

  /// When it would have run on the machine that the simulated GPUs imitate, by the *model clock*:
  /// nanoseconds from the first operation of the engine on. Computed by Engine::trace() from what
  /// has ended by then: from the program, its waits and the costs in PushOptions, never from the
  /// host's time, order or load. So two runs of a program with one pushing thread agree to the
  /// nanosecond, on every kind of engine and for any number of workers.
  ///
  /// A copy takes latency + bytes / bandwidth of its link; other work takes launch + max(flops /
  /// peak, bytes / memory bandwidth) of its device; what has neither flops nor bytes, or runs on a
  /// real GPU, takes none. Each (device, lane) runs one operation at a time, by priority, its own
  /// or that of what waits for it, and age; compute operations of the CPU wait for no worker. A
  /// push takes no time, but comes after what its thread has waited for. What an operation pushes
  /// counts as pushed by a thread that never waited.
  std::int64_t modelled_start = 0;
  std::int64_t modelled_end = 0;
  /// When it would have ended if nothing had ever waited for a lane or a link, but only for what
  /// it depends on: the time of the longest chain up to it. No schedule is faster than the longest
  /// one of all.
  std::int64_t modelled_chain = 0;
};

/// `records` with the times of the model clock in place of those of the wall clock, for summarize()
/// and write_chrome_trace().
std::vector<OpRecord> on_model_clock(std::span<const OpRecord> records);

/// How well one device hid its copying, in seconds of the clock that the records are on.
struct DeviceActivity {
  double compute = 0;      ///< a kCompute operation ran
  double copy = 0;         ///< a kCopyIn or kCopyOut operation ran
  double copy_hidden = 0;  ///< of `copy`, while a kCompute operation of any device ran
  double comm = 0;         ///< a kComm operation ran
  double comm_hidden = 0;  ///< of `comm`, while a kCompute operation of any device ran
};

/// Activity per device. Overlapping operations of one kind are counted once.
std::map<Device, DeviceActivity> summarize(std::span<const OpRecord> records);

/// Writes the Chrome trace event format (JSON), which ui.perfetto.dev and chrome://tracing open:
/// one process per device, one complete event per operation that ran, one thread per lane and more
/// where operations of a lane overlap.
void write_chrome_trace(std::ostream& out, std::span<const OpRecord> records);

}  // namespace heddle
