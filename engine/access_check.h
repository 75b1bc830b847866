#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::detail {

struct VarState;

/// Compares what one operation touches with what it has declared: EngineOptions::access_check.
///
/// Who asks for a pointer that may be written to, although the variable is declared for reading
/// only, gets it, as most such pointers are read through; but the bytes must stay as they are.
///
/// Thread safety: an object belongs to the thread that runs the operation.
class AccessCheck {
 public:
  struct Declared {
    const VarState* var;
    bool write;
  };

  AccessCheck(std::string_view name, std::uint64_t sequence, std::vector<Declared> declared);

  /// The operation is about to touch what `var` stands for. Throws AccessViolation if it must not.
  /// True if it may write, too.
  bool touch(const VarState& var, bool to_write);
  /// From now on `bytes` must not change.
  void guard(const VarState& var, const void* bytes, std::size_t size);

  /// The callable has returned. Throws AccessViolation for guarded bytes that have changed, and for
  /// what touch() refused, if the callable has kept that to itself.
  void finish();

 private:
  struct Guarded {
    const VarState* var;
    const void* bytes;
    std::size_t size;
    std::size_t digest;
  };

  [[noreturn]] void refuse(const VarState& var, std::string_view what);

  const std::string who_;  ///< 'name' #7
  const std::vector<Declared> declared_;
  std::vector<Guarded> guarded_;
  std::string refused_;  ///< text of the first refusal
};

}  // namespace heddle::detail
