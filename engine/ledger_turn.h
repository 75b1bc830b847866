#pragma once

#include <mutex>
#include <vector>

#include "engine/ledger.h"

namespace heddle::detail {

/// Holds the lock, and tells those who wait for pending operations to become few.
class Ledger::Turn {
 public:
  explicit Turn(Ledger& ledger) : ledger_(ledger) { ledger_.lock_.lock(); }
  /// The caller holds the lock, and gives it away.
  Turn(Ledger& ledger, std::adopt_lock_t /*held*/) : ledger_(ledger) {}
  ~Turn() {
    const bool tells = ledger_.limit_.worth_telling();
    if (ledger_.tracker_.has_dropped() && !ledger_.is_block_open_) {
      // An exception may do anything when it is destroyed, as to push: not under the lock, and not
      // by who has a block open.
      const std::vector<FailurePtr> dropped = ledger_.tracker_.take_dropped();
      ledger_.lock_.unlock();
    } else {
      ledger_.lock_.unlock();
    }
    if (tells) ledger_.limit_.tell();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Ledger& ledger_;
};

}  // namespace heddle::detail
