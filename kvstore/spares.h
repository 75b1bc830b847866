#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "heddle/device.h"
#include "heddle/ndarray.h"

namespace heddle::detail {
class Storage;
}

namespace heddle::kvstore {

/// True if what the calling thread pushes is recorded: whoever runs the recording changes values
/// without a call to the store.
bool is_recorded();

/// Where an update leaves a second copy of what it has written.
struct SpareRange {
  std::shared_ptr<detail::Storage> block;
  std::size_t begin = 0;  ///< in bytes
};

/// The spare blocks of a value, one for each GPU that pulls it after every push. An update writes
/// the new value there, too, while it is at hand; the next pull on that GPU then exchanges its
/// array's block with the spare one, and nothing is copied. It costs a copy of the value on each of
/// them, on devices that have plenty of room.
///
/// Only for GPUs that write each other's memory as fast as their own, and whose blocks the host
/// cannot hold pointers to.
///
/// Thread safety: the caller serializes the calls.
///
/// Invariants:
/// - A spare block is written by the updates of the value's parts, which mutate the parts, and
///   exchanged by a pull, which reads all of them, once between two updates. So the variables of
///   the parts order everything that touches it. Updates name its own variable, too, as one that
///   they read, so that it is not given back while they have it open.
/// - A spare is `filled` only if the value was changed last by updates that write it.
/// - There is none for a value that others may change unseen: a recording whose script initializes
///   it or pushes to it, or an updater, which may keep the value's array.
class Spares {
 public:
  /// The blocks for an update that is about to be pushed. Those that nobody has pulled since the
  /// last one are given up.
  std::vector<std::shared_ptr<detail::Storage>> blocks();
  /// The update of every part has been pushed, with these blocks.
  void filled();

  /// To be called when the value is changed otherwise, or gets other parts.
  void drop() { spares_.clear(); }

  /// Pulls `out` by an exchange and returns true if its GPU has a filled spare. Else, if it can
  /// have one, it is there for the next update. `parts` make up the value.
  bool pull(std::span<const NDArray> parts, const NDArray& out, int priority);

  /// For good.
  void give_up();

 private:
  struct Spare {
    Device device;
    std::shared_ptr<detail::Storage> block;
    bool filled = false;
  };

  void add(Device device, std::size_t bytes);

  std::vector<Spare> spares_;
  bool given_up_ = false;
};

}  // namespace heddle::kvstore
