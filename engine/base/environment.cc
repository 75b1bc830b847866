#include "engine/base/environment.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "heddle/options.h"

#include "engine/base/parse.h"

namespace heddle::base {
namespace {

/// Puts the value where it belongs; false if it does not parse.
using Store = bool (*)(std::string_view text, Environment& into);

struct Variable {
  const char* name;
  const char* values;
  const char* help;
  Store store;
};

bool store_kind(std::string_view text, Environment& into) {
  constexpr std::array<std::pair<std::string_view, EngineKind>, 4> kKinds = {{
      {"threaded", EngineKind::kThreaded},
      {"pooled", EngineKind::kPooled},
      {"naive", EngineKind::kNaive},
      {"explore", EngineKind::kExplore},
  }};
  for (const auto& [name, kind] : kKinds) {
    if (text == name) into.engine = kind;
  }
  return into.engine.has_value();
}

template <std::optional<bool> Environment::*kField>
bool store_switch(std::string_view text, Environment& into) {
  if (text == "0" || text == "1") into.*kField = text == "1";
  return (into.*kField).has_value();
}

bool store_cpu_workers(std::string_view text, Environment& into) {
  into.cpu_workers = parse_integer(text, 0, kMaxCpuWorkers);
  return into.cpu_workers.has_value();
}

bool store_gpus(std::string_view text, Environment& into) {
  into.gpus = text;
  return true;
}

bool store_max_pending(std::string_view text, Environment& into) {
  into.max_pending = parse_integer<std::size_t>(text, 1, kMaxPending);
  return into.max_pending.has_value();
}

bool store_watchdog(std::string_view text, Environment& into) {
  const auto count = parse_integer<std::int64_t>(text, 0, kMaxWatchdog.count());
  if (count) into.watchdog = std::chrono::milliseconds(*count);
  return into.watchdog.has_value();
}

bool store_seed(std::string_view text, Environment& into) {
  into.seed = parse_integer<std::uint64_t>(text, 0, std::numeric_limits<std::uint64_t>::max());
  return into.seed.has_value();
}

bool store_kvstore_algorithm(std::string_view text, Environment& into) {
  into.kvstore_algorithm = text;
  return text == "auto";
}

constexpr std::array<Variable, 13> kVariables = {{
    {"HEDDLE_ENGINE", "threaded, pooled, naive or explore",
     "Kind of the default engine. threaded (default): workers or a stream per device and lane. "
     "pooled: one pool of workers for all CPU work that does not block. naive: each operation runs "
     "inside push. "
     "explore: waits run the operations, in an order that HEDDLE_SEED chooses.",
     store_kind},
    {"HEDDLE_CPU_WORKERS", "an integer from 0 to 1024",
     "Threads that compute on the CPU. 0 (default): one per CPU that the process may use.",
     store_cpu_workers},
    {"HEDDLE_GPUS",
     "auto, none, or a list of sim:COUNT[@MACHINE][?OPTION=VALUE[&…]] and cuda:INDEX",
     "The logical GPUs. auto (default): the CUDA GPUs there are. sim:2: two simulated ones; "
     "machines with their links: pcie, p3.16xlarge, dgx-a100, hgx-h100, "
     "or the path of a topology file, with a /; "
     "options: h2d, d2h, peer, hbm (as 2.5GB/s), flops (as 14TFLOP/s), latency (as 10us), "
     "memory (as 8GiB); "
     "faults: jitter (as 50us), fail_alloc, fail_launch, lost_after (as 100).",
     store_gpus},
    {"HEDDLE_MAX_PENDING", "an integer from 1 to 4294967296",
     "Operations of the default engine that are pushed and not ended, beyond which push blocks; "
     "65536 by default.",
     store_max_pending},
    {"HEDDLE_WATCHDOG_MS", "an integer from 0 to 31536000000",
     "Milliseconds without any progress after which a stall is reported on standard error; "
     "60000 by default, 0: never.",
     store_watchdog},
    {"HEDDLE_SEED", "an integer from 0 to 18446744073709551615",
     "Chooses the order of the explore engine, and the jitter of simulated GPUs; 0 by default.",
     store_seed},
    {"HEDDLE_TRACE", "0 or 1",
     "1: the default engine keeps a record of every operation. 0 by default.",
     store_switch<&Environment::trace>},
    {"HEDDLE_ACCESS_CHECK", "0 or 1",
     "1: an operation that touches an array's data without having declared its variable, or "
     "writes it when declared for reading only, fails. 0 by default.",
     store_switch<&Environment::access_check>},
    {"HEDDLE_DEBUG_SYNC", "0 or 1",
     "1: an operation on a CUDA device ends before the next one is issued to that GPU, so that an "
     "error names the operation that has caused it. 0 by default.",
     store_switch<&Environment::debug_sync>},
    {"HEDDLE_DEBUG_MEMORY", "0 or 1",
     "1: memory is filled with NaNs (bytes 0xFF) when it is handed out and, "
     "but on CUDA devices, when it comes back. 0 by default.",
     store_switch<&Environment::debug_memory>},
    {"HEDDLE_CUDA_GRAPHS", "0 or 1",
     "1 (default): runs of a recording give a CUDA device what follows each other there as one "
     "graph. 0: operation by operation.",
     store_switch<&Environment::cuda_graphs>},
    {"HEDDLE_DETERMINISTIC", "0 or 1",
     "Reserved. 1: sums across devices are taken in one fixed order, whatever the algorithm.",
     store_switch<&Environment::deterministic>},
    {"HEDDLE_KVSTORE_ALGORITHM", "auto", "Reserved: a store has one way to sum; auto (default).",
     store_kvstore_algorithm},
}};

template <class Field, class Value>
void fill(Field& field, const Field& unset, const std::optional<Value>& value) {
  if (field == unset && value) field = *value;
}

}  // namespace

Environment parse_environment(const EnvironmentLookup& lookup) {
  Environment parsed;
  for (const Variable& variable : kVariables) {
    const char* text = lookup(variable.name);
    if (text == nullptr || *text == '\0') continue;
    if (!variable.store(text, parsed)) {
      throw std::invalid_argument("[" + std::string(variable.name) + "] \"" + text +
                                  "\": expected " + variable.values);
    }
  }
  return parsed;
}

const Environment& environment() {
  // Leaked: objects with static storage may ask for it while the process exits.
  static const Environment* const parsed =
      new Environment(parse_environment([](const char* name) { return secure_getenv(name); }));
  return *parsed;
}

RuntimeOptions merge_options(const RuntimeOptions& configured, const Environment& environment) {
  const RuntimeOptions unset;
  RuntimeOptions merged = configured;
  fill(merged.gpus, unset.gpus, environment.gpus);
  fill(merged.engine.kind, unset.engine.kind, environment.engine);
  fill(merged.engine.cpu_workers, unset.engine.cpu_workers, environment.cpu_workers);
  fill(merged.engine.max_pending, unset.engine.max_pending, environment.max_pending);
  fill(merged.engine.watchdog, unset.engine.watchdog, environment.watchdog);
  fill(merged.engine.seed, unset.engine.seed, environment.seed);
  fill(merged.engine.trace, unset.engine.trace, environment.trace);
  fill(merged.engine.access_check, unset.engine.access_check, environment.access_check);
  fill(merged.debug_sync, unset.debug_sync, environment.debug_sync);
  fill(merged.debug_memory, unset.debug_memory, environment.debug_memory);
  fill(merged.cuda_graphs, unset.cuda_graphs, environment.cuda_graphs);
  return merged;
}

}  // namespace heddle::base

namespace heddle {

namespace {

/// Writes `text` on lines of 80 columns at most, as far as its words allow.
void write_indented(std::ostream& out, std::string_view text) {
  constexpr std::size_t kColumns = 76;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > kColumns) {
      end = text.rfind(' ', kColumns);
      if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    }
    out << "    " << text.substr(0, end) << "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

void print_environment_help(std::ostream& out) {
  for (const base::Variable& variable : base::kVariables) {
    out << variable.name << "\n";
    write_indented(out, variable.values);
    write_indented(out, variable.help);
  }
}

}  // namespace heddle
