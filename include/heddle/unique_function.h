#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace heddle {

namespace detail {

/// True if a callable is one of those that can be empty (pointer, std::function, …) and is.
template <class Fn>
bool is_null_callable(const Fn& fn) {
  if constexpr (std::is_pointer_v<Fn> || std::is_member_pointer_v<Fn>) {
    return fn == nullptr;
  } else if constexpr (!std::is_class_v<Fn>) {
    return false;
  } else if constexpr (
      requires { fn == nullptr; } && requires { static_cast<bool>(fn); } && !requires { +fn; }) {
    return fn == nullptr;
  } else {
    return false;
  }
}

}  // namespace detail

namespace detail {

// Memory of callables that do not fit into the object: pushed by one thread, destroyed by another.
// Aligned to 64 bytes.
void* allocate_callable(std::size_t bytes);
void deallocate_callable(void* block, std::size_t bytes) noexcept;

template <class Fn, class Arg>
Fn* new_callable(Arg&& arg) {
  if constexpr (alignof(Fn) > 64) {
    return new Fn(std::forward<Arg>(arg));
  } else {
    void* const block = allocate_callable(sizeof(Fn));
    try {
      return ::new (block) Fn(std::forward<Arg>(arg));
    } catch (...) {
      deallocate_callable(block, sizeof(Fn));
      throw;
    }
  }
}

template <class Fn>
void delete_callable(Fn* fn) {
  if constexpr (alignof(Fn) > 64) {
    delete fn;
  } else {
    struct Block {  // given back also if the destructor throws
      Fn* fn;
      ~Block() { deallocate_callable(fn, sizeof(Fn)); }
    } const block{fn};
    fn->~Fn();
  }
}

}  // namespace detail

template <class Signature>
class UniqueFunction;

/// A move-only std::function. Callables of up to kInlineSize bytes that move without throwing are
/// stored inside the object and cost no allocation. Calling an empty one is undefined.
template <class Result, class... Args>
class UniqueFunction<Result(Args...)> {
 public:
  static constexpr std::size_t kInlineSize = 48;

  UniqueFunction() noexcept = default;
  UniqueFunction(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

  /// Empty if `fn` is a null pointer or an empty function object.
  template <class Fn>
  requires(!std::is_same_v<std::remove_cvref_t<Fn>, UniqueFunction> &&
           std::is_invocable_r_v<Result, std::decay_t<Fn>&, Args...>)
      UniqueFunction(Fn&& fn) {  // NOLINT(google-explicit-constructor)
    using Stored = std::decay_t<Fn>;
    if constexpr (!std::is_function_v<std::remove_reference_t<Fn>>) {
      if (detail::is_null_callable(fn)) return;
    }
    if constexpr (fits_inline<Stored>()) {
      if constexpr (std::is_trivially_copyable_v<Stored>) clear_buffer();
      ::new (static_cast<void*>(buffer_)) Stored(std::forward<Fn>(fn));
      table_ = &kInlineTable<Stored>;
    } else {
      clear_buffer();
      ::new (static_cast<void*>(buffer_))
          Stored*(detail::new_callable<Stored>(std::forward<Fn>(fn)));
      table_ = &kHeapTable<Stored>;
    }
  }

  [[gnu::always_inline]] UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  UniqueFunction(const UniqueFunction&) = delete;
  UniqueFunction& operator=(const UniqueFunction&) = delete;
  ~UniqueFunction() { reset(); }

  explicit operator bool() const noexcept { return table_ != nullptr; }
  friend bool operator==(const UniqueFunction& fn, std::nullptr_t) noexcept { return !fn; }

  /// True if to destroy the callable does nothing.
  bool is_trivially_destructible() const noexcept {
    return table_ == nullptr || table_->destroy == nullptr;
  }

  Result operator()(Args... args) { return table_->invoke(buffer_, std::forward<Args>(args)...); }

  /// Destroys the callable. What its destructor throws is thrown here, and the object is empty.
  void reset() {
    const Table* const table = std::exchange(table_, nullptr);
    if (table != nullptr && table->destroy != nullptr) table->destroy(buffer_);
  }

 private:
  struct Table {
    Result (*invoke)(void*, Args&&...);
    void (*relocate)(void* from, void* to) noexcept;  ///< null: copying the bytes does it
    void (*destroy)(void*);                           ///< null: there is nothing to do
  };

  template <class Fn>
  static constexpr bool fits_inline() {
    return sizeof(Fn) <= kInlineSize && alignof(Fn) <= alignof(Table*) &&
           std::is_nothrow_move_constructible_v<Fn>;
  }

  template <class Fn>
  static Result call(Fn& fn, Args&&... args) {
    if constexpr (std::is_void_v<Result>) {
      static_cast<void>(std::invoke(fn, std::forward<Args>(args)...));
    } else {
      return std::invoke(fn, std::forward<Args>(args)...);
    }
  }

  template <class Fn>
  static constexpr auto inline_relocate() -> void (*)(void*, void*) noexcept {
    if constexpr (std::is_trivially_copyable_v<Fn>) {
      return nullptr;
    } else {
      return [](void* from, void* to) noexcept {
        Fn* fn = std::launder(static_cast<Fn*>(from));
        ::new (to) Fn(std::move(*fn));
        fn->~Fn();
      };
    }
  }

  template <class Fn>
  static constexpr auto inline_destroy() -> void (*)(void*) {
    if constexpr (std::is_trivially_destructible_v<Fn>) {
      return nullptr;
    } else {
      return [](void* self) { std::launder(static_cast<Fn*>(self))->~Fn(); };
    }
  }

  template <class Fn>
  static constexpr Table kInlineTable = {[](void* self, Args&&... args) -> Result {
                                           return call(*std::launder(static_cast<Fn*>(self)),
                                                       std::forward<Args>(args)...);
                                         },
                                         inline_relocate<Fn>(), inline_destroy<Fn>()};

  template <class Fn>
  static constexpr Table kHeapTable = {
      [](void* self, Args&&... args) -> Result {
        return call(**std::launder(static_cast<Fn**>(self)), std::forward<Args>(args)...);
      },
      nullptr, [](void* self) { detail::delete_callable(*std::launder(static_cast<Fn**>(self))); }};

  // Each in pieces of one register: of the whole a compiler that takes the code to be cold makes a
  // string instruction, which takes longer than all the rest of a push.
  [[gnu::always_inline]] void copy_buffer(const UniqueFunction& other) noexcept {
    std::memcpy(buffer_, other.buffer_, kPiece);
    std::memcpy(buffer_ + kPiece, other.buffer_ + kPiece, kPiece);
    std::memcpy(buffer_ + 2 * kPiece, other.buffer_ + 2 * kPiece, kPiece);
  }
  [[gnu::always_inline]] void clear_buffer() noexcept {
    std::memset(buffer_, 0, kPiece);
    std::memset(buffer_ + kPiece, 0, kPiece);
    std::memset(buffer_ + 2 * kPiece, 0, kPiece);
  }

  [[gnu::always_inline]] void take(UniqueFunction& other) noexcept {
    if (other.table_ == nullptr) return;
    if (other.table_->relocate == nullptr) {
      copy_buffer(other);
    } else {
      other.table_->relocate(other.buffer_, buffer_);
    }
    table_ = std::exchange(other.table_, nullptr);
  }

  static constexpr std::size_t kPiece = 16;
  static_assert(kInlineSize == 3 * kPiece);

  const Table* table_ = nullptr;
  alignas(Table*) std::byte buffer_[kInlineSize];
};

}  // namespace heddle
