#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.h"

#include "engine/base/sync.h"

namespace heddle::detail {

/// Why a variable is poisoned: an operation threw, or was cancelled.
struct Failure {
  std::uint64_t sequence;        ///< of the operation at the root
  std::optional<OpError> error;  ///< empty: cancelled
  /// The name of an operation whose group was cancelled; empty: shutdown() cancelled it.
  std::optional<std::string> group_member = {};

  bool is_from_shutdown() const { return !error && !group_member; }
};

/// Shared by every variable that the same root poisoned; null: not poisoned.
using FailurePtr = std::shared_ptr<const Failure>;

/// Of an operation whose group was cancelled before it started.
FailurePtr cancelled_by_group(std::uint64_t sequence, std::string_view name);

/// Throws the OpError, or for a cancelled operation Cancelled or EngineStopped.
[[noreturn]] void raise(const Failure& failure);

/// The one with the lower sequence; null counts as none.
const FailurePtr& earlier(const FailurePtr& a, const FailurePtr& b);

/// The failures that nobody was told about yet.
///
/// Thread safety: every member may be called from any thread.
class ErrorLog {
 public:
  static constexpr std::size_t kLimit = 1024;

  /// Keeps `error` if fewer than kLimit are kept, else counts it.
  void add(FailurePtr error);
  /// `error` was thrown by a wait.
  void mark_reported(const Failure& error);
  /// Throws what is kept, as an AggregateError, and forgets it. Returns if there is nothing.
  void raise_all();

 private:
  base::Mutex mutex_;
  std::vector<FailurePtr> kept_;
  std::size_t omitted_ = 0;
};

}  // namespace heddle::detail
