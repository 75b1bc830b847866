#include "engine/device/machine.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "engine/base/parse.h"
#include "engine/device/quantity.h"

namespace heddle::device {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// Copies at what they reach in practice, in GB/s each way; `peer` is all links of a GPU where a
/// switch joins them, the PCIe switch where there is none. Computing at the peaks of the data
/// sheets: float32 without tensor cores, of a V100 in the first two.
struct Preset {
  std::string_view name;
  double host;
  double peer;
  microseconds latency;
  double teraflops;
  double memory;
  std::size_t gpus;
};

constexpr std::array<Preset, 4> kPresets = {{
    {"pcie", 11.5, 11.5, microseconds(10), 14, 900, 0},
    {"p3.16xlarge", 11.5, 8.5, microseconds(10), 15.7, 900, 8},
    {"dgx-a100", 24, 240, microseconds(8), 19.5, 1555, 8},
    {"hgx-h100", 50, 370, microseconds(7), 67, 3350, 8},
}};

/// Until a kernel that was enqueued begins.
constexpr microseconds kLaunch(3);

/// NVLinks between the GPUs of a p3.16xlarge, two quads joined by a cube's edges. The pairs without
/// one copy through the host.
constexpr std::size_t kCubeMesh = 8;
constexpr std::array<std::array<int, kCubeMesh>, kCubeMesh> kNvLinks = {{
    {0, 1, 1, 2, 2, 0, 0, 0},
    {1, 0, 2, 1, 0, 2, 0, 0},
    {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2},
    {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2},
    {0, 0, 0, 1, 2, 1, 2, 0},
}};
constexpr double kNvLinkSpeed = 23e9;

std::vector<LinkSpeed> cube_mesh(const LinkSpeed& through_host) {
  std::vector<LinkSpeed> links;
  for (const auto& row : kNvLinks) {
    for (const int count : row) {
      links.push_back(count == 0 ? through_host
                                 : LinkSpeed{count * kNvLinkSpeed, through_host.latency});
    }
  }
  return links;
}

/// The next word of `text`, which is then cut to what follows it; "" if there is none.
std::string_view take_word(std::string_view& text) {
  constexpr std::string_view kBlank = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text.remove_prefix(word.size());
  return word;
}

/// More than any machine has: the largest number that is one.
constexpr int kMaxGpu = 9999;

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  Machine parse(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      parse_line(line.substr(0, line.find('#')));
    }
    if (rows_.empty()) fail("there is no line \"gpu LINK ...\": expected one per GPU");
    return join();
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw std::invalid_argument(name_ + ":" + std::to_string(line_) + ": " + problem);
  }

  void parse_line(std::string_view line) {
    const std::string_view key = take_word(line);
    if (key.empty()) return;
    if (key == "gpu") return parse_row(line);
    if (key == "switch") return parse_switch(line);
    const std::string_view value = take_word(line);
    if (!take_word(line).empty()) fail("\"" + std::string(key) + "\" takes one value");
    if (key == "host") {
      machine_.host.bytes_per_second = expect(key, value, parse_speed(value), "11.5GB/s");
    } else if (key == "latency") {
      latency_ = to_time(expect(key, value, parse_time(value), "10us"));
    } else if (key == "flops") {
      machine_.compute.flops_per_second = expect(key, value, parse_flops(value), "14TFLOP/s");
    } else if (key == "hbm") {
      machine_.compute.bytes_per_second = expect(key, value, parse_speed(value), "900GB/s");
    } else if (key == "launch") {
      machine_.compute.launch = to_time(expect(key, value, parse_time(value), "3us"));
    } else {
      fail("\"" + std::string(key) +
           "\" is not one of host, latency, flops, hbm, launch, switch, gpu");
    }
  }

  double expect(std::string_view key, std::string_view value, std::optional<double> parsed,
                const char* example) const {
    if (parsed) return *parsed;
    fail("\"" + std::string(key) + " " + std::string(value) + "\": expected a value as " + example);
  }

  static nanoseconds to_time(double time) {
    return nanoseconds(static_cast<nanoseconds::rep>(time));
  }

  void parse_row(std::string_view line) {
    std::vector<double> row;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      const bool to_itself = row.size() == rows_.size();
      if (to_itself != (word == "-")) {
        fail("link " + link(rows_.size(), row.size()) + " is \"" + std::string(word) +
             "\": expected \"-\" from a GPU to itself and only there");
      }
      row.push_back(to_itself ? 0 : expect("gpu", word, parse_speed(word), "23GB/s"));
    }
    rows_.push_back(std::move(row));
  }

  void parse_switch(std::string_view line) {
    std::vector<std::size_t> gpus;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      const std::optional<int> gpu = base::parse_integer(word, 0, kMaxGpu);
      if (!gpu) fail("\"switch " + std::string(word) + "\": expected the number of a GPU, from 0");
      gpus.push_back(static_cast<std::size_t>(*gpu));
    }
    if (gpus.empty()) fail("\"switch\" takes the numbers of the GPUs behind it");
    const std::size_t first = *std::min_element(gpus.begin(), gpus.end());
    for (const std::size_t gpu : gpus) {
      if (!port_of_.emplace(gpu, first).second) {
        fail("GPU " + std::to_string(gpu) + " is behind a switch already");
      }
    }
  }

  /// With all GPUs known.
  std::vector<std::size_t> join_ports() const {
    if (port_of_.empty()) return {};
    if (const std::size_t last = port_of_.rbegin()->first; last >= rows_.size()) {
      fail("GPU " + std::to_string(last) + " is behind a switch: there are " +
           std::to_string(rows_.size()) + " GPUs");
    }
    std::vector<std::size_t> ports(rows_.size());
    std::iota(ports.begin(), ports.end(), std::size_t{0});
    for (const auto& [gpu, first] : port_of_) ports[gpu] = first;
    return ports;
  }

  static std::string link(std::size_t from, std::size_t to) {
    return std::to_string(from) + " to " + std::to_string(to);
  }

  Machine join() {
    machine_.gpus = rows_.size();
    machine_.ports = join_ports();
    machine_.host.latency = machine_.peer.latency = latency_;
    machine_.peer.bytes_per_second = machine_.host.bytes_per_second;
    for (std::size_t from = 0; from < rows_.size(); ++from) {
      if (rows_[from].size() != rows_.size()) {
        fail("gpu " + std::to_string(from) + " has " + std::to_string(rows_[from].size()) +
             " links: expected one to each of the " + std::to_string(rows_.size()) + " GPUs");
      }
      for (const double speed : rows_[from]) machine_.links.push_back({speed, latency_});
    }
    for (std::size_t from = 0; from < rows_.size(); ++from) {
      for (std::size_t to = 0; to < from; ++to) {
        if (rows_[from][to] == rows_[to][from]) continue;
        fail("link " + link(to, from) + " is not as fast as " + link(from, to) +
             ": expected a symmetric table");
      }
    }
    return std::move(machine_);
  }

  const std::string& name_;
  std::size_t line_ = 0;
  nanoseconds latency_{0};
  std::vector<std::vector<double>> rows_;
  std::map<std::size_t, std::size_t> port_of_;  // of each GPU behind a switch: the first there
  Machine machine_;
};

}  // namespace

std::vector<LinkSpeed> Machine::links_of(std::size_t from, std::size_t count) const {
  if (links.empty()) return {};
  const auto row = links.begin() + static_cast<std::ptrdiff_t>(from * gpus);
  return {row, row + static_cast<std::ptrdiff_t>(count)};
}

Machine machine_preset(std::string_view name) {
  std::string known;
  for (const Preset& preset : kPresets) {
    known.append(known.empty() ? "" : ", ").append(preset.name);
    if (preset.name != name) continue;
    Machine machine{.host = {preset.host * 1e9, preset.latency},
                    .peer = {preset.peer * 1e9, preset.latency},
                    .compute = {preset.teraflops * 1e12, preset.memory * 1e9, kLaunch},
                    .gpus = preset.gpus,
                    .links = {},
                    .ports = {}};
    if (name == "p3.16xlarge") {
      machine.links = cube_mesh(machine.peer);
      machine.ports = {0, 0, 2, 2, 4, 4, 6, 6};
    }
    return machine;
  }
  throw std::invalid_argument("\"" + std::string(name) +
                              "\" is not a machine: expected the path of a topology file, with a "
                              "\"/\", or one of " +
                              known);
}

Machine parse_machine(const std::string& name, std::string_view text) {
  return Parser(name).parse(text);
}

Machine read_machine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file) throw std::invalid_argument(path + ": cannot be read");
  return parse_machine(path, text.str());
}

}  // namespace heddle::device
