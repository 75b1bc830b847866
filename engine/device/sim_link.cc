#include "engine/device/sim_link.h"

#include <algorithm>
#include <cmath>

namespace heddle::device {
namespace {

const SimSpec& sim_spec(const LogicalGpu& gpu) {
  static const SimSpec* const unlimited = new SimSpec;
  const auto* spec = std::get_if<SimSpec>(&gpu);
  return spec != nullptr ? *spec : *unlimited;
}

LinkSpeed slower(LinkSpeed a, LinkSpeed b) {
  const bool a_unlimited = a.bytes_per_second == 0;
  const bool b_unlimited = b.bytes_per_second == 0;
  LinkSpeed speed;
  speed.bytes_per_second = a_unlimited || b_unlimited
                               ? std::max(a.bytes_per_second, b.bytes_per_second)
                               : std::min(a.bytes_per_second, b.bytes_per_second);
  speed.latency = std::max(a.latency, b.latency);
  return speed;
}

/// From the one to the other, which is logical GPU `to`.
LinkSpeed peer_speed(const SimSpec& source, const SimSpec& target, std::size_t to) {
  const bool is_one_machine = source.first == target.first && to >= source.first &&
                              to - source.first < source.peers.size() && !target.peers.empty();
  return is_one_machine ? source.peers[to - source.first] : slower(source.peer, target.peer);
}

}  // namespace

bool SimLink::limited() const {
  return speed_.bytes_per_second > 0 || speed_.latency > std::chrono::nanoseconds::zero();
}

Clock::time_point SimLink::occupy(Clock::time_point arrival, std::size_t bytes) {
  std::chrono::nanoseconds duration = speed_.latency;
  if (speed_.bytes_per_second > 0) {
    const double transfer = static_cast<double>(bytes) / speed_.bytes_per_second * 1e9;
    duration += std::chrono::nanoseconds(std::llround(transfer));
  }
  const std::lock_guard lock(mutex_);
  free_at_ = std::max(free_at_, arrival) + duration;
  return free_at_;
}

LinkSpeed link_speed(std::span<const LogicalGpu> gpus, std::size_t from, std::size_t to) {
  const std::size_t host = gpus.size();
  if (from == to) return {};
  if (from == host) return sim_spec(gpus[to]).host_to_device;
  if (to == host) return sim_spec(gpus[from]).device_to_host;
  return peer_speed(sim_spec(gpus[from]), sim_spec(gpus[to]), to);
}

LinkEnds link_between(std::span<const LogicalGpu> gpus, std::size_t from, std::size_t to) {
  const std::size_t host = gpus.size();
  const auto port = [&](std::size_t gpu) { return sim_spec(gpus[gpu]).port.value_or(gpu); };
  if (from == to) return {from, to};
  if (from == host) return {host, port(to)};
  if (to == host) return {port(from), host};
  return {from, to};
}

SimLinks::SimLinks(std::span<const LogicalGpu> gpus) : width_(gpus.size() + 1) {
  for (std::size_t from = 0; from < width_; ++from) {
    for (std::size_t to = 0; to < width_; ++to) links_.emplace_back(link_speed(gpus, from, to));
  }
  for (std::size_t from = 0; from < width_; ++from) {
    for (std::size_t to = 0; to < width_; ++to) {
      const auto [first, last] = link_between(gpus, from, to);
      between_.push_back(&links_[first * width_ + last]);
    }
  }
}

SimLink* SimLinks::between(Device from, Device to) {
  const auto place = [this](Device device) {
    return device.is_gpu() ? static_cast<std::size_t>(device.id()) : width_ - 1;
  };
  if (place(from) == place(to)) return nullptr;
  return between_[place(from) * width_ + place(to)];
}

}  // namespace heddle::device
