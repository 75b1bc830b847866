#include "heddle/error.h"

#include <string>

#include <catch2/catch.hpp>

namespace heddle {
namespace {

using Catch::Matchers::Contains;

OpError failed(std::string name, std::uint64_t sequence, const std::string& cause) {
  return {std::move(name), sequence, Device::cpu(1),
          std::make_exception_ptr(std::runtime_error(cause))};
}

TEST_CASE("an OpError's text has the operation, its sequence, its device and the cause") {
  const OpError error = failed("dot", 17, "disk is full");
  CHECK_THAT(error.what(),
             Contains("dot") && Contains("17") && Contains("cpu(1)") && Contains("disk is full"));
}

TEST_CASE("an OpError gives back what it was made from") {
  const auto cause = std::make_exception_ptr(7);
  const OpError error("dot", 17, Device::cpu(1), cause);
  CHECK(error.op_name() == "dot");
  CHECK(error.sequence() == 17);
  CHECK(error.device() == Device::cpu(1));
  CHECK(error.cause() == cause);
}

TEST_CASE("an OpError without a name is called operation") {
  CHECK(failed("", 1, "x").op_name() == "operation");
}

TEST_CASE("an OpError without a cause gets one") {
  const OpError error("dot", 1, Device::cpu(), nullptr);
  CHECK(error.cause() != nullptr);
  CHECK_THAT(error.what(), Contains("unknown error"));
}

TEST_CASE("copies of an OpError share their state") {
  const OpError error = failed("dot", 17, "x");
  const OpError copy = error;  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK(&copy.op_name() == &error.op_name());
}

TEST_CASE("an AggregateError lists its errors in order") {
  const AggregateError error({failed("first", 1, "a"), failed("second", 2, "b")}, 0);
  REQUIRE(error.errors().size() == 2);
  CHECK(error.errors()[1].op_name() == "second");
  const std::string text = error.what();
  CHECK_THAT(text, Contains("2 operations failed") && !Contains("omitted"));
  CHECK(text.find("first") < text.find("second"));
}

TEST_CASE("an AggregateError says how many errors it omits") {
  const AggregateError error({failed("first", 1, "a")}, 41);
  CHECK(error.omitted() == 41);
  CHECK_THAT(error.what(), Contains("42 operations failed") && Contains("41 more"));
}

TEST_CASE("describe gives the text of an exception, and a phrase for what has none") {
  CHECK(describe(std::make_exception_ptr(std::runtime_error("text"))) == "text");
  CHECK(describe(std::make_exception_ptr(7)) == "unknown exception");
  CHECK(describe(nullptr) == "unknown error");
}

}  // namespace
}  // namespace heddle
