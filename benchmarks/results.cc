#include "results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace bench {
namespace {

/// The first line that `command` prints; empty if it prints none.
std::string first_line(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return {};
  std::string result = line.data();
  return result.substr(0, result.find('\n'));
}

/// Of the sources that this was built from; "-dirty" if they have been changed since. Where they
/// are a copy without git, HEDDLE_COMMIT says it.
std::string commit() {
  std::string known =
      first_line("git -C '" HEDDLE_SOURCE_DIR "' describe --always --dirty 2>/dev/null");
  if (!known.empty()) return known;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const said = std::getenv("HEDDLE_COMMIT");
  return said != nullptr ? said : "unknown";
}

/// Name and driver of the first CUDA GPU, behind a comma; empty if there is none.
std::string gpu() {
  const std::string known =
      first_line("nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null");
  const std::size_t comma = known.find(", ");
  if (comma == std::string::npos) return {};
  return ", " + known.substr(0, comma) + " with driver " + known.substr(comma + 2);
}

std::string machine() {
  std::ifstream file("/proc/cpuinfo");
  std::string model = "unknown CPU";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    model = line.substr(line.find(':') + 2);
    break;
  }
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) + " CPUs" + gpu();
}

/// None of the texts has control characters.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

double quantile(std::vector<double> samples, double p) {
  std::sort(samples.begin(), samples.end());
  const double position = p * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return std::lerp(samples[below], samples[above], position - std::floor(position));
}

void print_table(const std::vector<Row>& rows) {
  std::printf("%-28s %-14s %-18s %12s %12s %12s\n", "case", "contender", "metric", "median", "p10",
              "p90");
  for (const Row& row : rows) {
    std::printf("%-28s %-14s %-18s", row.name.c_str(), row.contender.c_str(), row.metric.c_str());
    for (const double p : {0.5, 0.1, 0.9}) {
      if (row.samples.empty()) {
        std::printf(" %12s", "-");
      } else {
        std::printf(" %12.6g", quantile(row.samples, p));
      }
    }
    std::puts("");
  }
}

void write_json(const std::string& path, const std::string& bench, const std::vector<Row>& rows) {
  std::ofstream out(path);
  out << std::setprecision(9) << "{\"bench\": " << quoted(bench)
      << ",\n \"commit\": " << quoted(commit()) << ",\n \"machine\": " << quoted(machine())
      << ",\n \"rows\": [";
  const char* separator = "\n";
  for (const Row& row : rows) {
    if (row.samples.empty()) continue;
    out << std::exchange(separator, ",\n") << "  {\"case\": " << quoted(row.name)
        << ", \"contender\": " << quoted(row.contender) << ", \"metric\": " << quoted(row.metric)
        << ", \"median\": " << quantile(row.samples, 0.5)
        << ", \"p10\": " << quantile(row.samples, 0.1)
        << ", \"p25\": " << quantile(row.samples, 0.25)
        << ", \"p90\": " << quantile(row.samples, 0.9) << ", \"samples\": " << row.samples.size()
        << "}";
  }
  out << "\n ]}\n";
  out.close();
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace bench
