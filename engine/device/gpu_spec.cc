#include "engine/device/gpu_spec.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "engine/base/parse.h"
#include "engine/device/quantity.h"

namespace heddle::device {
namespace {

/// Cuts `text` after the first `separator` and returns what stands before it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view head = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return head;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view setting) : text_(text), setting_(setting) {}

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
    throw std::invalid_argument("[" + std::string(setting_) + "] \"" + std::string(text_) +
                                "\": " + problem);
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
    Machine machine;
    if (has_preset) machine = find_machine(head, static_cast<std::size_t>(*count));
    SimSpec spec{.preset = has_preset ? std::string(head) : std::string(),
                 .host_to_device = machine.host,
                 .device_to_host = machine.host,
                 .peer = machine.peer,
                 .compute = machine.compute};
    if (!machine.links.empty()) spec.first = gpus.size();
    std::set<std::string_view> given;
    if (has_options) given = parse_options(rest, spec);
    const std::size_t first = gpus.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(*count); ++i) {
      if (!machine.ports.empty()) spec.port = first + machine.ports[i];
      if (!given.contains("peer"))
        spec.peers = machine.links_of(i, static_cast<std::size_t>(*count));
      if (given.contains("latency")) {
        for (LinkSpeed& link : spec.peers) link.latency = spec.peer.latency;
      }
      gpus.emplace_back(spec);
    }
  }

  Machine find_machine(std::string_view name, std::size_t count) const {
    Machine machine;
    try {
      const bool is_path = name.find('/') != std::string_view::npos;
      machine = is_path ? read_machine(std::string(name)) : machine_preset(name);
    } catch (const std::invalid_argument& error) {
      fail(error.what());
    }
    if (machine.gpus != 0 && count > machine.gpus) {
      fail(std::string(name) + " has " + std::to_string(machine.gpus) +
           " GPUs: expected no more of them");
    }
    return machine;
  }

  /// Returns which are given.
  std::set<std::string_view> parse_options(std::string_view rest, SimSpec& spec) const {
    std::set<std::string_view> seen;
    for (;;) {
      const bool more = rest.find('&') != std::string_view::npos;
      const std::string_view option = take_until(rest, '&');
      const std::string_view name = option.substr(0, option.find('='));
      if (!seen.insert(name).second) fail("option \"" + std::string(name) + "\" is given twice");
      parse_option(option, spec);
      if (!more) return seen;
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
    } else if (name == "hbm") {
      spec.compute.bytes_per_second = speed(option, value);
    } else if (name == "flops") {
      const auto flops = parse_flops(value);
      if (!flops)
        fail(option, "flops=RATE with a rate as 14TFLOP/s or 500GFLOP/s, at most 1000000TFLOP/s");
      spec.compute.flops_per_second = *flops;
    } else if (name == "latency") {
      spec.host_to_device.latency = spec.device_to_host.latency = spec.peer.latency =
          time(option, value);
    } else if (name == "memory") {
      const auto memory = parse_size(value);
      if (!memory)
        fail(option, "memory=SIZE with a size as 8GiB or 512MiB, from 1KiB to 1048576GiB");
      spec.memory = static_cast<std::size_t>(*memory);
    } else if (!parse_fault(option, name, value, spec.faults)) {
      fail(option,
           "one of h2d=SPEED, d2h=SPEED, peer=SPEED, latency=TIME, memory=SIZE, flops=RATE, "
           "hbm=SPEED, jitter=TIME, fail_alloc=N, fail_launch=N, lost_after=N");
    }
  }

  /// False if the name is not that of a fault.
  bool parse_fault(std::string_view option, std::string_view name, std::string_view value,
                   SimFaultSpec& faults) const {
    if (name == "jitter") {
      faults.jitter = time(option, value);
    } else if (name == "fail_alloc") {
      faults.fail_alloc = number(option, value);
    } else if (name == "fail_launch") {
      faults.fail_launch = number(option, value);
    } else if (name == "lost_after") {
      faults.lost_after = number(option, value);
    } else {
      return false;
    }
    return true;
  }

  double speed(std::string_view option, std::string_view value) const {
    const auto bytes_per_second = parse_speed(value);
    if (!bytes_per_second) {
      fail(option, std::string(option.substr(0, option.find('='))) +
                       "=SPEED with a speed as 2.5GB/s or 800MB/s, from 1B/s to 1000000GB/s");
    }
    return *bytes_per_second;
  }

  std::chrono::nanoseconds time(std::string_view option, std::string_view value) const {
    const auto nanoseconds = parse_time(value);
    if (!nanoseconds) {
      fail(option, std::string(option.substr(0, option.find('='))) +
                       "=TIME with a time as 10us or 0.5ms, at most 10000ms");
    }
    return std::chrono::nanoseconds(static_cast<std::int64_t>(*nanoseconds));
  }

  std::uint64_t number(std::string_view option, std::string_view value) const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
    const auto number = base::parse_integer<std::uint64_t>(value, 1, kMost);
    if (!number) {
      fail(option,
           std::string(option.substr(0, option.find('='))) + "=N with an integer N of 1 or more");
    }
    return *number;
  }

  std::string_view text_;
  std::string_view setting_;
};

}  // namespace

GpuSpec parse_gpu_spec(std::string_view text, std::string_view setting) {
  return Parser(text, setting).parse();
}

std::vector<LogicalGpu> logical_gpus(std::string_view text, int (*cuda_devices)(),
                                     std::string_view setting) {
  GpuSpec spec = parse_gpu_spec(text, setting);
  std::optional<int> found;
  const auto count = [&] { return found ? *found : *(found = cuda_devices()); };
  for (int i = 0; spec.automatic && i < count(); ++i) spec.gpus.emplace_back(CudaSpec{i});
  for (const LogicalGpu& gpu : spec.gpus) {
    const auto* cuda = std::get_if<CudaSpec>(&gpu);
    if (cuda == nullptr || cuda->index < count()) continue;
    throw std::invalid_argument("[" + std::string(setting) + "] \"" + std::string(text) +
                                "\": there is no cuda:" + std::to_string(cuda->index) +
                                ", expected one of the " + std::to_string(count()) +
                                " CUDA GPUs of this machine");
  }
  return std::move(spec.gpus);
}

}  // namespace heddle::device
