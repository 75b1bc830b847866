#include "engine/device/gpu_spec.h"

#include <array>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "engine/base/parse.h"

namespace heddle::device {
namespace {

using std::chrono::microseconds;

/// Speeds that copies reach in practice, in GB/s each way; `peer` is one NVLink of the
/// p3.16xlarge, all links of a GPU where a switch joins them, the PCIe switch where there is none.
struct Preset {
  std::string_view name;
  double host;
  double peer;
  microseconds latency;
};

constexpr std::array<Preset, 4> kPresets = {{
    {"pcie", 11.5, 11.5, microseconds(10)},
    {"p3.16xlarge", 11.5, 23, microseconds(10)},
    {"dgx-a100", 24, 240, microseconds(8)},
    {"hgx-h100", 50, 370, microseconds(7)},
}};

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 4> kSpeedUnits = {
    {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}}};
constexpr std::array<Unit, 2> kTimeUnits = {{{"us", 1e3}, {"ms", 1e6}}};
constexpr std::array<Unit, 4> kSizeUnits = {
    {{"B", 1}, {"KiB", 1024}, {"MiB", 1024.0 * 1024}, {"GiB", 1024.0 * 1024 * 1024}}};

/// Number and unit, in the base unit, if that lies in lowest..highest.
std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units,
                                     double lowest, double highest) {
  const std::optional<double> number = base::take_number(text);
  if (!number) return std::nullopt;
  for (const Unit& unit : units) {
    const double value = *number * unit.factor;
    if (text == unit.name && value >= lowest && value <= highest) return value;
  }
  return std::nullopt;
}

/// Cuts `text` after the first `separator` and returns what stands before it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view head = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return head;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  GpuSpec parse() {
    GpuSpec spec;
    if (text_.empty() || text_ == "auto") {
      spec.automatic = true;
    } else if (text_ != "none") {
      // A comma at the end opens one more item, an empty one, which is refused as such.
      for (std::string_view rest = text_;;) {
        const bool more = rest.find(',') != std::string_view::npos;
        parse_item(take_until(rest, ','), spec.gpus);
        if (!more) break;
      }
    }
    return spec;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw std::invalid_argument("[HEDDLE_GPUS] \"" + std::string(text_) + "\": " + problem);
  }

  [[noreturn]] void fail(std::string_view part, const std::string& expected) const {
    fail("\"" + std::string(part) + "\" is not " + expected);
  }

  void parse_item(std::string_view item, std::vector<LogicalGpu>& gpus) const {
    std::string_view rest = item;
    const std::string_view kind = take_until(rest, ':');
    if (kind == "sim") {
      parse_sim(rest, gpus);
    } else if (kind == "cuda") {
      const std::optional<int> index = base::parse_integer(rest, 0, 1023);
      if (!index) fail(item, "cuda:INDEX with an index of 0 or more");
      gpus.emplace_back(CudaSpec{*index});
    } else {
      fail(item, "one of auto, none, sim:COUNT, cuda:INDEX (auto and none stand alone)");
    }
    if (gpus.size() > kMaxLogicalGpus) {
      fail("expected at most " + std::to_string(kMaxLogicalGpus) + " GPUs in all");
    }
  }

  void parse_sim(std::string_view rest, std::vector<LogicalGpu>& gpus) const {
    const bool has_options = rest.find('?') != std::string_view::npos;
    std::string_view head = take_until(rest, '?');
    const bool has_preset = head.find('@') != std::string_view::npos;
    const std::string_view count_text = take_until(head, '@');
    const std::optional<int> count = base::parse_integer(count_text, 1, kMaxLogicalGpus);
    if (!count) {
      fail(count_text, "a number of simulated GPUs from 1 to " + std::to_string(kMaxLogicalGpus));
    }
    SimSpec spec;
    if (has_preset) apply_preset(head, spec);
    if (has_options) parse_options(rest, spec);
    gpus.insert(gpus.end(), static_cast<std::size_t>(*count), spec);
  }

  void apply_preset(std::string_view name, SimSpec& spec) const {
    std::string known;
    for (const Preset& preset : kPresets) {
      if (preset.name == name) {
        spec.preset = name;
        spec.host_to_device = spec.device_to_host = {preset.host * 1e9, preset.latency};
        spec.peer = {preset.peer * 1e9, preset.latency};
        return;
      }
      known.append(known.empty() ? "" : ", ").append(preset.name);
    }
    fail(name, "a preset: expected one of " + known);
  }

  void parse_options(std::string_view rest, SimSpec& spec) const {
    std::set<std::string_view> seen;
    for (;;) {
      const bool more = rest.find('&') != std::string_view::npos;
      const std::string_view option = take_until(rest, '&');
      const std::string_view name = option.substr(0, option.find('='));
      if (!seen.insert(name).second) fail("option \"" + std::string(name) + "\" is given twice");
      parse_option(option, spec);
      if (!more) return;
    }
  }

  void parse_option(std::string_view option, SimSpec& spec) const {
    std::string_view value = option;
    const std::string_view name = take_until(value, '=');
    if (name == "h2d") {
      spec.host_to_device.bytes_per_second = speed(option, value);
    } else if (name == "d2h") {
      spec.device_to_host.bytes_per_second = speed(option, value);
    } else if (name == "peer") {
      spec.peer.bytes_per_second = speed(option, value);
    } else if (name == "latency") {
      const auto latency = parse_quantity(value, kTimeUnits, 0, 1e10);
      if (!latency) fail(option, "latency=TIME with a time as 10us or 0.5ms, at most 10000ms");
      spec.host_to_device.latency = spec.device_to_host.latency = spec.peer.latency =
          std::chrono::nanoseconds(static_cast<std::int64_t>(*latency));
    } else if (name == "memory") {
      const auto memory = parse_quantity(value, kSizeUnits, 1024, 0x1p50);
      if (!memory) fail(option, "memory=SIZE with a size as 8GiB or 512MiB, at least 1KiB");
      spec.memory = static_cast<std::size_t>(*memory);
    } else {
      fail(option, "one of h2d=SPEED, d2h=SPEED, peer=SPEED, latency=TIME, memory=SIZE");
    }
  }

  double speed(std::string_view option, std::string_view value) const {
    const auto bytes_per_second = parse_quantity(value, kSpeedUnits, 1, 1e15);
    if (!bytes_per_second) {
      fail(option, std::string(option.substr(0, option.find('='))) +
                       "=SPEED with a speed as 2.5GB/s or 800MB/s, at least 1B/s");
    }
    return *bytes_per_second;
  }

  std::string_view text_;
};

}  // namespace

GpuSpec parse_gpu_spec(std::string_view text) { return Parser(text).parse(); }

std::vector<LogicalGpu> logical_gpus(std::string_view text, int (*cuda_devices)()) {
  GpuSpec spec = parse_gpu_spec(text);
  std::optional<int> found;
  const auto count = [&] { return found ? *found : *(found = cuda_devices()); };
  for (int i = 0; spec.automatic && i < count(); ++i) spec.gpus.emplace_back(CudaSpec{i});
  for (const LogicalGpu& gpu : spec.gpus) {
    const auto* cuda = std::get_if<CudaSpec>(&gpu);
    if (cuda == nullptr || cuda->index < count()) continue;
    throw std::invalid_argument("[HEDDLE_GPUS] \"" + std::string(text) + "\": there is no cuda:" +
                                std::to_string(cuda->index) + ", expected one of the " +
                                std::to_string(count()) + " CUDA GPUs of this machine");
  }
  return std::move(spec.gpus);
}

}  // namespace heddle::device
