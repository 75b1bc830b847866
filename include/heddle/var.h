#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

namespace detail {
struct VarState;
class EngineCore;
void retain(VarState* state) noexcept;
void release(VarState* state) noexcept;
}  // namespace detail

/// A tag that orders operations: what an operation reads or mutates is named by its variables.
///
/// A handle; copies refer to the same tag, and the tag is freed when the last handle is gone and
/// its operations have ended. May outlive its engine; then every call of an engine that names it is
/// std::invalid_argument. Var{} refers to nothing.
class Var {
 public:
  Var() noexcept = default;
  Var(const Var& other) noexcept : state_(other.state_) { detail::retain(state_); }
  Var(Var&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Var& operator=(Var other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Var() { detail::release(state_); }

  explicit operator bool() const noexcept { return state_ != nullptr; }
  friend bool operator==(const Var&, const Var&) = default;

  /// The name given to Engine::new_variable(), or "" for Var{}. Unnamed ones are "v<number>".
  const std::string& name() const;

 private:
  friend class Engine;
  friend class detail::EngineCore;
  friend class VarRef;
  explicit Var(detail::VarState* state) noexcept : state_(state) {}  // takes over one reference

  detail::VarState* state_ = nullptr;
};

/// A variable named in an argument list: 8 bytes, no reference counting.
class VarRef {
 public:
  VarRef(const Var& var) noexcept : state_(var.state_) {}  // NOLINT(google-explicit-constructor)
  detail::VarState* state() const noexcept { return state_; }

 private:
  detail::VarState* state_;
};

/// A view of the variables of one push. Valid to the end of the full expression that makes it:
/// pass it on, never store it.
class VarList {
 public:
  VarList() noexcept = default;
  // The list lives to the end of the full expression, which is all that a VarList promises.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  // NOLINTNEXTLINE(google-explicit-constructor)
  VarList(std::initializer_list<VarRef> refs) noexcept : first_(refs.begin()), size_(refs.size()) {}
#pragma GCC diagnostic pop
  // NOLINTNEXTLINE(google-explicit-constructor)
  VarList(std::span<const Var> vars) noexcept : first_(vars.data()), size_(vars.size()) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  VarList(const std::vector<Var>& vars) noexcept : VarList(std::span<const Var>(vars)) {}
  template <std::size_t N>
  // NOLINTNEXTLINE(google-explicit-constructor)
  VarList(const std::array<Var, N>& vars) noexcept : VarList(std::span<const Var>(vars)) {}

  std::size_t size() const noexcept { return size_; }
  detail::VarState* operator[](std::size_t i) const noexcept {
    detail::VarState* state = nullptr;
    std::memcpy(&state, static_cast<const std::byte*>(first_) + i * sizeof(Var), sizeof(Var));
    return state;
  }

 private:
  static_assert(sizeof(Var) == sizeof(detail::VarState*) && sizeof(VarRef) == sizeof(Var));

  const void* first_ = nullptr;  ///< of Vars or VarRefs, of which either is one pointer
  std::size_t size_ = 0;
};

}  // namespace heddle
