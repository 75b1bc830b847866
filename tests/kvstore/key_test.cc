#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <catch2/catch.hpp>

#include "heddle/kvstore.h"

namespace heddle {
namespace {

static_assert(std::is_convertible_v<int, Key>);
static_assert(std::is_convertible_v<std::size_t, Key>);
static_assert(std::is_convertible_v<const char*, Key>);
static_assert(std::is_convertible_v<std::string, Key>);
static_assert(std::is_convertible_v<std::string_view, Key>);
static_assert(!std::is_convertible_v<bool, Key>);
static_assert(!std::is_convertible_v<char, Key>);
static_assert(!std::is_convertible_v<wchar_t, Key>);
static_assert(!std::is_convertible_v<double, Key>);
static_assert(!std::is_convertible_v<std::nullptr_t, Key>);

TEST_CASE("a key's text is its number or its name") {
  CHECK(Key(0).str() == "0");
  CHECK(Key(-7).str() == "-7");
  CHECK(Key("weight").str() == "weight");
  CHECK(Key(std::string("bias")).str() == "bias");
  CHECK(Key(std::string_view("a\0b", 3)).str() == std::string("a\0b", 3));
}

TEST_CASE("keys are equal if kind and name are") {
  CHECK(Key(3) == Key(std::int64_t{3}));
  CHECK(Key("w") == Key(std::string("w")));
  CHECK(Key(3) != Key("3"));
}

TEST_CASE("keys are ordered by number, then by name") {
  CHECK(Key(-1) < Key(2));
  CHECK(Key(9) < Key(10));
  CHECK(Key(10) < Key("1"));
  CHECK(Key("10") < Key("9"));
}

TEST_CASE("a number that does not fit an int is no key") {
  CHECK(Key(std::int64_t{2147483647}).str() == "2147483647");
  CHECK_THROWS_AS(Key(std::int64_t{2147483648}), std::invalid_argument);
  CHECK_THROWS_AS(Key(std::uint64_t{1} << 63U), std::invalid_argument);
  CHECK_THROWS_WITH(Key(std::int64_t{-2147483649}),
                    "[kvstore] key -2147483649: expected a number that fits an int");
}

TEST_CASE("a null pointer to a name is no key") {
  const char* name = nullptr;
  CHECK_THROWS_AS(Key(name), std::invalid_argument);
}

}  // namespace
}  // namespace heddle
