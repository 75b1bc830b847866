#include "tests/faults/runs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include "tests/support/engines.h"
#include "tests/support/random_program.h"
#include "tests/support/scale.h"

namespace heddle::faults {
namespace {

/// A number of /proc/self/status; -1 if it is not there.
std::int64_t status_number(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::strtoll(line.c_str() + key.size(), nullptr, 10);
  }
  return -1;
}

EngineOptions in_turn(const std::vector<EngineOptions>& engines, std::uint64_t seed) {
  constexpr std::array<std::size_t, 4> kLimits = {65536, 256, 16, 1};
  EngineOptions options = engines[seed % engines.size()];
  options.max_pending = kLimits[seed / engines.size() % kLimits.size()];
  return options;
}

}  // namespace

bool is_full_run() {
  static const bool full = [] {
    const char* const asked = std::getenv("HEDDLE_FAULT_RUNS");
    return asked != nullptr && std::string_view(asked) == "full";
  }();
  return full;
}

int runs(int quick, int full) {
  return is_full_run() ? full : std::max(1, quick / support::kScale);
}

EngineOptions parallel_engine(std::uint64_t seed) {
  static const std::vector<EngineOptions> engines = support::parallel_engines();
  return in_turn(engines, seed);
}

EngineOptions any_engine(std::uint64_t seed) {
  static const std::vector<EngineOptions> engines = support::every_engine();
  return in_turn(engines, seed);
}

std::uint64_t Random::next() { return support::mix(seed_, ++drawn_); }

Tally::Tally(std::string fault) : fault_(std::move(fault)) {}

void Tally::add(const std::string& what, std::uint64_t count) {
  const auto known = std::find_if(counts_.begin(), counts_.end(),
                                  [&what](const auto& each) { return each.first == what; });
  if (known != counts_.end()) {
    known->second += count;
  } else {
    counts_.emplace_back(what, count);
  }
}

Tally::~Tally() {
  if (!is_full_run()) return;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
  std::printf("%s: %llu runs in %.0f s", fault_.c_str(), static_cast<unsigned long long>(runs_),
              took.count());
  for (const auto& [what, count] : counts_) {
    std::printf(", %llu %s", static_cast<unsigned long long>(count), what.c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

int thread_count() { return static_cast<int>(status_number("Threads:")); }

bool threads_fall_to(int threads) {
  for (int look = 0; look < 20000; ++look) {
    if (thread_count() <= threads) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

std::int64_t resident_kib() { return status_number("VmRSS:"); }

bool is_more_than(std::int64_t limit, std::int64_t before, std::int64_t now) {
  return support::kScale == 1 && now > before + limit;
}

}  // namespace heddle::faults
