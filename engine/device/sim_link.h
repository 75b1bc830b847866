#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "heddle/device.h"

#include "engine/base/sync.h"
#include "engine/device/gpu_spec.h"
#include "engine/device/sim_clock.h"

namespace heddle::device {

/// One direction of a link: carries one copy at a time, in the order of the calls.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariant: free_at_ never goes backwards, and is the modelled end of the last copy.
class SimLink {
 public:
  explicit SimLink(LinkSpeed speed) : speed_(speed) {}

  /// False if copies take no modelled time.
  bool limited() const;

  /// Takes the link for a copy of `bytes` that could start at `arrival`, and returns the modelled
  /// time of its end: latency + bytes / speed after it starts, which is when the copy before it
  /// ends or at `arrival`, whichever is later. Does not block.
  Clock::time_point occupy(Clock::time_point arrival, std::size_t bytes);

 private:
  const LinkSpeed speed_;
  base::Mutex mutex_;
  Clock::time_point free_at_{};
};

/// The link from one place to another, both given by the index of a GPU or gpus.size() for the
/// host. Two GPUs of one machine have what it says; of others the slower one's speed and the longer
/// latency count. Within a place, and to what is not simulated, there is no limit.
LinkSpeed link_speed(std::span<const LogicalGpu> gpus, std::size_t from, std::size_t to);

/// From where to where a link goes, as link_speed() numbers places.
using LinkEnds = std::pair<std::size_t, std::size_t>;

/// The link that copies between two places take: their own, but GPUs that share a port of the host
/// take the links of that one.
LinkEnds link_between(std::span<const LogicalGpu> gpus, std::size_t from, std::size_t to);

/// Every link between the host and simulated GPUs and among these, each direction apart.
///
/// Thread safety: every member may be called from any thread.
class SimLinks {
 public:
  /// For the logical GPUs of one table; the links of those that are not simulated are unlimited.
  explicit SimLinks(std::span<const LogicalGpu> gpus);

  /// The link that a copy between two places takes. Null within one device.
  SimLink* between(Device from, Device to);

 private:
  std::size_t width_;  // the GPUs and, last, the host
  std::deque<SimLink> links_;
  std::vector<SimLink*> between_;  // row: from, column: to
};

}  // namespace heddle::device
