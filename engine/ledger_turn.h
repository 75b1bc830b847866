#pragma once

#include <mutex>

#include "engine/kept_nodes.h"
#include "engine/ledger.h"

namespace heddle::detail {

/// Holds the lock, and tells those who wait for pending operations to become few, if they have.
class Ledger::Turn {
 public:
  explicit Turn(Ledger& ledger) : ledger_(ledger) {
    ledger_.lock_.lock();
    given_back_ = ledger_.limit().given_back();
  }
  /// The caller holds the lock, and gives it away.
  Turn(Ledger& ledger, std::adopt_lock_t /*held*/)
      : ledger_(ledger), given_back_(ledger_.limit().given_back()) {}
  ~Turn() {
    // Else who waits and looks by itself would wake itself by that.
    const bool fewer = ledger_.limit().given_back() != given_back_;
    const bool tells = fewer && ledger_.limit().worth_telling();
    // An exception may do anything when it is destroyed, as to push: not under the lock, and not
    // by who has a block open.
    while (ledger_.tracker_.has_dropped() && !ledger_.intake_.is_block_open()) {
      FailurePtr dropped = ledger_.tracker_.take_dropped();
      ledger_.lock_.unlock();
      KeptNodes::give_back();
      dropped.reset();
      ledger_.lock_.lock();
    }
    ledger_.lock_.unlock();
    if (tells) ledger_.limit().tell();
  }
  /// Until no block is open; lets go of the lock meanwhile.
  void wait_for_block();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Ledger& ledger_;
  std::size_t given_back_ = 0;  ///< when it got the lock
};

}  // namespace heddle::detail
