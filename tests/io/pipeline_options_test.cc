#include <stdexcept>

#include <catch2/catch.hpp>

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

TEST_CASE("options out of range are refused, by name") {
  const Source source = numbered(4);
  const auto refuses = [&](const PipelineOptions& options, const std::string& name) {
    CHECK_THROWS_AS(Pipeline(source, options), std::invalid_argument);
    CHECK_THROWS_WITH(Pipeline(source, options), Catch::Matchers::Contains(name));
  };
  refuses({.batch_size = 0}, "batch_size 0");
  refuses({.shard = {0, 0}}, "shard.count 0");
  refuses({.shard = {2, 2}}, "shard 2 of 2");
  refuses({.shard = {-1, 2}}, "shard -1 of 2");
  refuses({.transforms = {nullptr}}, "transform 0");
  refuses({.decode_threads = 0}, "decode_threads 0");
  refuses({.prefetch = 0}, "prefetch 0");
  refuses({.max_corrupt = -1}, "max_corrupt -1");
}

TEST_CASE("a source that refers to nothing is refused") {
  CHECK_THROWS_AS(Pipeline(Source(), {}), std::invalid_argument);
  CHECK_THROWS_AS(Source().size(), std::invalid_argument);
  CHECK_THROWS_AS(Source().record_shape(), std::invalid_argument);
}

}  // namespace
}  // namespace heddle::io::test
