#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace heddle::relacy {

/// Where an atomic operation stands in the source.
struct Site {
  const char* file;
  int line;
  const char* function;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                             const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

enum class Kind : unsigned char { kLoad, kStore, kUpdate };

/// An atomic operation of the code under test.
struct Use {
  Site site;
  Kind kind;
  std::memory_order order;
};

/// One use with a weaker order, which a test is to find.
struct Weaker {
  Use use;
  std::memory_order instead;
  /// As "put: store release -> relaxed", with " (2)" at the end if it is the second such one of its
  /// function.
  std::string text;
};

/// The order that the operation gets: that of the source, unless it is being weakened.
std::memory_order order_of(Kind kind, std::memory_order order, const Site& site);

/// From now on `weaker` is in force; nothing: all orders are those of the source.
void weaken(const std::optional<Weaker>& weaker);

/// From now on uses are kept in mind.
void start_recording();
/// Those that were met in files whose path ends so, each with every order that is weaker.
std::vector<Weaker> stop_recording(const std::string& file);

}  // namespace heddle::relacy
