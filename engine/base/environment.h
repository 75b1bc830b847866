#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "heddle/options.h"

namespace heddle::base {

// Upper bounds, which are also those of EngineOptions.
inline constexpr int kMaxCpuWorkers = 1024;
inline constexpr std::size_t kMaxPending = std::size_t{1} << 32U;
inline constexpr std::chrono::milliseconds kMaxWatchdog = std::chrono::hours(24 * 365);

/// What the environment variables say; nullopt where one is unset or empty. The variables, their
/// values and what they mean stand in one table in environment.cc.
struct Environment {
  std::optional<EngineKind> engine;
  std::optional<int> cpu_workers;
  std::optional<std::string> gpus;  ///< not parsed yet: see engine/device/gpu_spec.h
  std::optional<std::size_t> max_pending;
  std::optional<std::chrono::milliseconds> watchdog;
  std::optional<std::uint64_t> seed;
  std::optional<bool> trace;
  std::optional<bool> access_check;
  std::optional<bool> debug_sync;
  std::optional<bool> debug_memory;
  std::optional<bool> cuda_graphs;
  std::optional<bool> deterministic;
  std::optional<std::string> kvstore_algorithm;
};

/// The value of a variable, or null if it is not set.
using EnvironmentLookup = std::function<const char*(const char* name)>;

/// Throws std::invalid_argument, naming variable, value and what was expected, for a value that
/// does not parse.
Environment parse_environment(const EnvironmentLookup& lookup);

/// The environment of the process, read once by the first call that succeeds. Throws as
/// parse_environment does. Thread safety: any thread, unless another changes the environment.
const Environment& environment();

/// `configured` with every field that equals its default taken from `environment` instead.
RuntimeOptions merge_options(const RuntimeOptions& configured, const Environment& environment);

}  // namespace heddle::base
