#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "heddle/cancel.h"
#include "heddle/device.h"
#include "heddle/trace.h"

namespace heddle {

enum class EngineKind : std::uint8_t {
  /// One worker pool or stream per (device, lane). An operation may run on any thread of the CPU's
  /// pools, which stand in for each other.
  kThreaded,
  kPooled,  ///< one worker pool for all CPU work but kBlocking; streams as before
  /// Runs each operation inside push, and waits there for its Completion, while no other thread
  /// gets further with the engine: so who completes it, and operations of several such engines that
  /// push to each other, must not use it before that. The oracle.
  kNaive,
  /// Waits run the operations, in one legal order per seed: hunts order bugs. A wait runs those of
  /// its own engine only: where that needs another such engine, another thread must wait for that.
  /// A shutdown looks at its deadline between two operations.
  kExplore,
};

/// A field equal to its default counts as unset: for the default engine the environment variable
/// named beside it then decides.
struct EngineOptions {
  /// HEDDLE_ENGINE
  EngineKind kind = EngineKind::kThreaded;
  /// HEDDLE_CPU_WORKERS. Threads of the CPU's compute lane, 1024 at most; 0: one per CPU that the
  /// process may use (affinity and cgroup quota), on kExplore at least 2. Each engine has its own,
  /// and one more for each other lane of the CPU that it uses. A parallel region of
  /// OpenMP inside an operation gets as many threads as CPUs are there for each of them, at
  /// least 1.
  int cpu_workers = 0;
  /// HEDDLE_MAX_PENDING. Operations pushed and not ended, beyond which push blocks: 1 to 2^32.
  std::size_t max_pending = 65536;
  /// HEDDLE_WATCHDOG_MS. When nothing has ended for so long although something is pending,
  /// kThreaded and kPooled say on standard error, once, what runs where and who waits for whom, as
  /// does a wait on kExplore that finds nothing to run, and kNaive says for which Completion its
  /// push waits; 0: never. A year at most.
  std::chrono::milliseconds watchdog{60000};
  /// HEDDLE_SEED. Of kExplore: chooses the order. Of simulated GPUs: their jitter.
  std::uint64_t seed = 0;
  /// HEDDLE_ACCESS_CHECK. For debugging: an operation that touches the data of an array whose
  /// variable it does not name, or writes one that it names for reading only, fails with an
  /// AccessViolation. Costs a list per operation. Arrays are of the default engine, so with any
  /// other one this finds nothing.
  bool access_check = false;
  /// HEDDLE_TRACE. Keep one OpRecord per operation (see trace.h).
  bool trace = false;
  /// Operations that a copy or comm stream holds issued and not done, 1 to 65536; the rest wait on
  /// the host, in priority order.
  int copy_window = 2;
  /// The same for a compute stream, where a CUDA graph of several recorded operations counts as
  /// one. A simulated GPU holds fewer if they would take it more than some 50 us.
  int compute_window = 64;
};

/// A copy that an operation makes: so many bytes from one device to another.
struct CopyCost {
  std::uint64_t bytes = 0;
  Device from = Device();
  Device to = Device();
};

/// One operation's wishes: where it runs, how urgent it is, what it is called.
struct PushOptions {
  Device device = Device();
  Lane lane = Lane::kCompute;
  /// Higher first among the ready operations of a lane; what the operation waits for inherits it,
  /// some eight operations for each one pushed. One that was overtaken 1,024 times goes next, from
  /// when a worker has taken in what was pushed: a busy one does after 512 operations at the
  /// latest.
  int priority = 0;
  std::string_view name = {};  ///< in traces and errors; copied
  /// Every mutated variable is written in full: the operation runs although they are poisoned,
  /// and heals them. Poison in the variables it reads still skips it.
  bool overwrites = false;
  /// A hint: the operation is short and blocks on nothing. Where its lane would wake a thread for
  /// it, as the copy and comm lanes of a simulated GPU do, a thread that is awake may run it.
  bool brief = false;
  /// The group that the operation belongs to; by default none. See CancelSource.
  CancelToken cancel = {};
  /// What the operation costs, for the model clock only (see OpRecord): floating point operations,
  /// where less than 0 and NaN count as 0, and bytes that it moves in the memory of `device`.
  double flops = 0;
  std::uint64_t bytes = 0;
  /// If it copies, what it copies one after the other, in place of the costs above. Copied.
  std::span<const CopyCost> copies = {};
  /// For recordings on CUDA devices: all that the callable does is to enqueue on its stream what
  /// may be captured there, so that the GPU can get it together with what other operations enqueue,
  /// as one CUDA graph. A run captures it anew, so it need not be the same in each. See
  /// heddle/cuda.h for what the callable must not do.
  bool capturable = false;
};

/// Settings of the process: its devices and its default engine.
struct RuntimeOptions {
  /// HEDDLE_GPUS: the logical GPUs. "auto" or "": the real ones. "none". "sim:2": two simulated.
  /// See README.md for the grammar.
  std::string gpus = {};
  EngineOptions engine = {};
  /// HEDDLE_DEBUG_SYNC. For debugging: an operation on a CUDA device has ended before the next one
  /// is issued to that GPU, so that an error names the operation which has caused it.
  bool debug_sync = false;
  /// HEDDLE_DEBUG_MEMORY. For debugging: memory of every device is filled with bytes 0xFF, which
  /// are NaNs, when it is handed out; that of the host and of simulated devices also when it comes
  /// back.
  bool debug_memory = false;
  /// HEDDLE_CUDA_GRAPHS. Runs of a recording give a CUDA device what follows each other in its
  /// compute lane as one graph, from the second run on: 4 to 64 operations, which are done when all
  /// of them are. A graph ends with what the recording needs elsewhere. Not with debug_sync.
  bool cuda_graphs = true;
};

/// Sets what the default engine and the device table are made from; wins over the environment.
/// Throws Error once either has been used, std::invalid_argument for a value out of range.
void configure(const RuntimeOptions& options);

/// Writes the table of environment variables as text, for a program's help: one variable, its
/// values and its meaning per entry.
void print_environment_help(std::ostream& out);

}  // namespace heddle
