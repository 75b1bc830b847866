#pragma once

#include <mutex>

#include "engine/ledger.h"

namespace heddle::detail {

/// Holds the lock, and tells those who wait for pending operations to become few, if they have, and
/// who destroys what was dropped, by whomever.
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
    const bool has_dropped = ledger_.tracker_.has_dropped();
    ledger_.lock_.unlock();
    if (tells) ledger_.limit().tell();
    if (has_dropped) [[unlikely]]
      ledger_.disposal_.ask();
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
