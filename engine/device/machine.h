#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::device {

/// One direction of a simulated link.
struct LinkSpeed {
  double bytes_per_second = 0;          ///< 0: no limit
  std::chrono::nanoseconds latency{0};  ///< of each copy, before its first byte
  friend bool operator==(const LinkSpeed&, const LinkSpeed&) = default;
};

/// How fast a device computes. Only the model clock asks.
struct ComputeSpeed {
  double flops_per_second = 0;         ///< 0: no limit
  double bytes_per_second = 0;         ///< of the device's own memory; 0: no limit
  std::chrono::nanoseconds launch{0};  ///< of each operation, before it begins to compute
  friend bool operator==(const ComputeSpeed&, const ComputeSpeed&) = default;
};

/// A machine that simulated GPUs pretend to be part of. Its GPUs are equal, its links are not: each
/// ordered pair of GPUs has one of its own, and so has each GPU to and from the host unless it
/// shares them with others behind a switch.
struct Machine {
  LinkSpeed host;  ///< between the host and a GPU, each way
  LinkSpeed peer;  ///< between two GPUs of which `links` says nothing
  ComputeSpeed compute;
  std::size_t gpus = 0;          ///< how many it has; 0: any number, and `links` is empty
  std::vector<LinkSpeed> links;  ///< from GPU a to GPU b: element a * gpus + b; or empty
  /// Of each GPU: the first one behind its switch, whose links to and from the host are those of
  /// all behind it; without a switch itself. Or empty: no GPUs share.
  std::vector<std::size_t> ports;

  /// The links from GPU `from` to the first `count` GPUs; empty if `links` is.
  std::vector<LinkSpeed> links_of(std::size_t from, std::size_t count) const;
};

/// "pcie", "p3.16xlarge", "dgx-a100", "hgx-h100": what copies reach in practice, and the peaks of
/// the GPUs' data sheets. Throws std::invalid_argument, listing the names, for another one.
Machine machine_preset(std::string_view name);

/// Parses what a topology file says, one item a line; "#" begins a comment:
///
///   host SPEED       between the host and each GPU, each way
///   latency TIME     of every link
///   flops RATE       of each GPU
///   hbm SPEED        of each GPU's own memory
///   launch TIME      of each operation that computes on a GPU
///   switch GPU GPU … GPUs, by number, that share one link to the host and one from it
///   gpu LINK LINK …  one line per GPU, in their order: a SPEED to each GPU, "-" to itself
///
/// Units as in HEDDLE_GPUS. What is not said costs no time. Throws std::invalid_argument, one line
/// that begins with `name` and the number of the line, for anything else, a link that is not as
/// fast one way as the other included.
Machine parse_machine(const std::string& name, std::string_view text);

/// parse_machine() of a file. Throws std::invalid_argument, naming it, if it cannot be read.
Machine read_machine(const std::string& path);

}  // namespace heddle::device
