#pragma once

#include <mutex>

#include "engine/ledger.h"

namespace heddle::detail {

/// Holds the lock, and tells those who wait for pending operations to become few, if they have.
class Ledger::Turn {
 public:
  explicit Turn(Ledger& ledger) : ledger_(ledger) {
    ledger_.lock_.lock();
    pending_ = ledger_.limit_.pending();
  }
  /// The caller holds the lock, and gives it away.
  Turn(Ledger& ledger, std::adopt_lock_t /*held*/)
      : ledger_(ledger), pending_(ledger_.limit_.pending()) {}
  ~Turn() {
    // Else who waits and looks by itself would wake itself by that.
    const bool fewer = ledger_.limit_.pending() < pending_;
    const bool tells = fewer && ledger_.limit_.worth_telling();
    // An exception may do anything when it is destroyed, as to push: not under the lock, and not
    // by who has a block open.
    while (ledger_.tracker_.has_dropped() && !ledger_.is_block_open_) {
      FailurePtr dropped = ledger_.tracker_.take_dropped();
      ledger_.lock_.unlock();
      dropped.reset();
      ledger_.lock_.lock();
    }
    ledger_.lock_.unlock();
    if (tells) ledger_.limit_.tell();
  }
  /// Until no block is open; lets go of the lock meanwhile.
  void wait_for_block();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Ledger& ledger_;
  std::size_t pending_ = 0;  ///< when it got the lock
};

}  // namespace heddle::detail
