#include "heddle/unique_function.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include <catch2/catch.hpp>

namespace heddle {
namespace {

static_assert(!std::is_copy_constructible_v<UniqueFunction<void()>>);
static_assert(!std::is_copy_assignable_v<UniqueFunction<void()>>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFunction<void()>>);
static_assert(std::is_nothrow_move_assignable_v<UniqueFunction<void()>>);
static_assert(!std::is_constructible_v<UniqueFunction<void()>, std::string>);
static_assert(!std::is_constructible_v<UniqueFunction<void(int)>, void (*)()>);

/// Counts the objects of its kind that are alive; `Size` bytes and more.
template <std::size_t Size>
struct Counted {
  explicit Counted(int& count) : alive(&count) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  ~Counted() { --*alive; }
  int operator()() const { return 7; }

  int* alive;
  std::array<char, Size> payload{};
};

int twice(int value) { return 2 * value; }

TEST_CASE("an empty function is false and equal to null") {
  CHECK_FALSE(static_cast<bool>(UniqueFunction<void()>()));
  CHECK_FALSE(static_cast<bool>(UniqueFunction<void()>(nullptr)));
  CHECK(UniqueFunction<void()>() == nullptr);
}

TEST_CASE("a function made from something empty is empty") {
  int (*const null_function)(int) = nullptr;
  CHECK_FALSE(static_cast<bool>(UniqueFunction<int(int)>(null_function)));
  CHECK_FALSE(static_cast<bool>(UniqueFunction<int(int)>(std::function<int(int)>())));
  struct Thing {
    int value() const { return 1; }
  };
  int (Thing::*const null_member)() const = nullptr;
  CHECK_FALSE(static_cast<bool>(UniqueFunction<int(const Thing&)>(null_member)));
}

TEST_CASE("a function calls what it was made from") {
  CHECK(UniqueFunction<int(int)>(twice)(4) == 8);
  CHECK(UniqueFunction<int(int)>(&twice)(4) == 8);
  CHECK(UniqueFunction<int(int)>([](int value) { return value + 1; })(4) == 5);
  CHECK(UniqueFunction<int(int)>(std::function<int(int)>(twice))(4) == 8);
  CHECK(UniqueFunction<std::size_t(const std::string&)>(&std::string::size)("four") == 4);
}

TEST_CASE("a move-only callable may be stored") {
  UniqueFunction<int()> fn = [value = std::make_unique<int>(3)] { return *value; };
  UniqueFunction<int()> moved = std::move(fn);
  CHECK(moved() == 3);
}

TEST_CASE("a captureless lambda is not taken for empty") {
  const auto lambda = [] { return 2; };
  UniqueFunction<int()> fn = lambda;
  CHECK(static_cast<bool>(fn));
  CHECK(fn() == 2);
}

TEST_CASE("moving empties the source") {
  UniqueFunction<int()> fn = [] { return 1; };
  UniqueFunction<int()> moved = std::move(fn);
  CHECK_FALSE(static_cast<bool>(fn));  // NOLINT(bugprone-use-after-move): that is the subject
  CHECK(moved() == 1);
  fn = std::move(moved);
  CHECK(fn() == 1);
  UniqueFunction<int()>& same = fn;
  fn = std::move(same);
  CHECK(fn() == 1);
}

TEMPLATE_TEST_CASE("a stored callable is destroyed once, small or big", "", Counted<1>,
                   Counted<200>) {
  int alive = 0;
  {
    UniqueFunction<int()> fn = TestType(alive);
    CHECK(alive == 1);
    UniqueFunction<int()> moved = std::move(fn);
    CHECK(alive == 1);
    CHECK(moved() == 7);
    UniqueFunction<int()> other = TestType(alive);
    CHECK(alive == 2);
    other = std::move(moved);
    CHECK(alive == 1);
    CHECK(other() == 7);
    other.reset();
    CHECK(alive == 0);
    CHECK_FALSE(static_cast<bool>(other));
    other = TestType(alive);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("small callables are stored inside the object") {
  struct Probe {
    const void** where;
    void operator()() const { *where = this; }
  };
  const void* where = nullptr;
  UniqueFunction<void()> fn = Probe{&where};
  fn();
  const auto* begin = reinterpret_cast<const char*>(&fn);
  const auto* inside = static_cast<const char*>(where);
  CHECK(std::less_equal<>()(begin, inside));
  CHECK(std::less<>()(inside, begin + sizeof(fn)));
}

TEST_CASE("every byte of a callable that fills the object moves with it") {
  std::array<unsigned char, UniqueFunction<bool()>::kInlineSize> bytes{};
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  UniqueFunction<bool()> fn = [bytes] {
    return std::equal(bytes.begin() + 1, bytes.end(), bytes.begin(),
                      [](unsigned char next, unsigned char one) { return next == one + 1; });
  };
  UniqueFunction<bool()> moved = std::move(fn);
  CHECK(moved());
}

TEST_CASE("to destroy a callable does nothing if it is small and has no destructor") {
  int n = 0;
  const UniqueFunction<void()> small = [&n] { ++n; };
  const UniqueFunction<void()> owns = [n = std::make_unique<int>()] {};
  const UniqueFunction<void()> big = [bytes = std::array<char, 49>()] { static_cast<void>(bytes); };
  CHECK(UniqueFunction<void()>().is_trivially_destructible());
  CHECK(small.is_trivially_destructible());
  CHECK_FALSE(owns.is_trivially_destructible());
  CHECK_FALSE(big.is_trivially_destructible());
}

TEST_CASE("an over-aligned callable is aligned when it is called") {
  struct alignas(128) Aligned {
    std::uintptr_t operator()() const { return reinterpret_cast<std::uintptr_t>(this) % 128; }
  };
  UniqueFunction<std::uintptr_t()> fn = Aligned();
  UniqueFunction<std::uintptr_t()> moved = std::move(fn);
  CHECK(moved() == 0);
}

TEST_CASE("arguments are forwarded, references and move-only ones too") {
  UniqueFunction<void(int&, std::unique_ptr<int>)> fn = [](int& out, std::unique_ptr<int> in) {
    out = *in;
  };
  int value = 0;
  fn(value, std::make_unique<int>(6));
  CHECK(value == 6);
}

TEST_CASE("a result is discarded where void is asked for") {
  int calls = 0;
  UniqueFunction<void()> fn = [&calls] { return ++calls; };
  fn();
  fn();
  CHECK(calls == 2);
}

TEST_CASE("a mutable callable keeps its state between calls") {
  UniqueFunction<int()> fn = [n = 0]() mutable { return ++n; };
  CHECK(fn() == 1);
  UniqueFunction<int()> moved = std::move(fn);
  CHECK(moved() == 2);
}

TEST_CASE("what a callable throws leaves the call") {
  UniqueFunction<void()> fn = [] { throw 5; };
  CHECK_THROWS_AS(fn(), int);
  CHECK(static_cast<bool>(fn));
}

TEST_CASE("reset throws what the callable's destructor throws, and the function is empty") {
  struct Throws {
    Throws() = default;
    Throws(Throws&&) noexcept {}
    ~Throws() noexcept(false) {
      if (armed) throw 5;
    }
    void operator()() {}
    bool armed = false;
  };
  UniqueFunction<void()> fn = [t = Throws()]() mutable { t.armed = true; };
  fn();
  CHECK_THROWS_AS(fn.reset(), int);
  CHECK_FALSE(static_cast<bool>(fn));
}

}  // namespace
}  // namespace heddle
