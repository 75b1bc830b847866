#include "engine/op_name.h"

#include <string>

#include <catch2/catch.hpp>

using heddle::detail::OpName;

TEST_CASE("an operation's name is kept whole, whatever its length") {
  OpName name;
  CHECK(name.empty());
  for (const std::size_t length : {1U, 40U, 41U, 1000U, 3U, 0U}) {
    const std::string text(length, 'n');
    name.assign(text);
    CHECK(name.str() == text);
    CHECK(name.empty() == text.empty());
  }
}
