#include <stdexcept>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

struct NoException {};

/// Throws at record 5 of 10.
PipelineOptions failing(int prefetch) {
  return {.batch_size = 2,
          .transforms = {[](Sample& sample) {
            if (sample.id == 5) throw std::out_of_range("record 5 is bad");
          }},
          .decode_threads = 2,
          .prefetch = prefetch};
}

TEST_CASE("what a transform throws reaches next(), after the batches before") {
  const int prefetch = GENERATE(1, 2, 8);
  Pipeline pipeline(numbered(10), failing(prefetch));
  CHECK(pipeline.next()->label.to_vector<float>() == std::vector<float>{0, 1});
  CHECK(pipeline.next()->label.to_vector<float>() == std::vector<float>{2, 3});
  CHECK_THROWS_AS(pipeline.next(), std::out_of_range);
  CHECK_THROWS_WITH(pipeline.next(), "record 5 is bad");
  CHECK(pipeline.meters().batches == 2);
}

TEST_CASE("something thrown that is no std::exception reaches next()") {
  Pipeline pipeline(numbered(2), {.transforms = {[](Sample&) { throw NoException{}; }}});
  CHECK_THROWS_AS(pipeline.next(), NoException);
}

TEST_CASE("reset() after an error begins the following epoch") {
  Pipeline pipeline(numbered(10), failing(4));
  for (int i = 0; i < 2; ++i) static_cast<void>(pipeline.next());
  CHECK_THROWS(pipeline.next());
  pipeline.reset();
  const Batch batch = pipeline.next().value();
  CHECK(batch.epoch == 1);
  CHECK(batch.label.to_vector<float>() == std::vector<float>{0, 1});
}

TEST_CASE("an error in an epoch's first batch does not hold reset() up") {
  bool fail = true;
  Pipeline pipeline(numbered(2), {.transforms = {[&fail](Sample& sample) {
                                    if (fail && sample.id == 0) throw std::runtime_error("once");
                                  }},
                                  .prefetch = 1});
  CHECK_THROWS(pipeline.next());
  fail = false;
  pipeline.reset();
  CHECK(pipeline.next()->epoch == 1);
}

TEST_CASE("the error of a batch that nobody asks for is not the engine's") {
  {
    Pipeline pipeline(numbered(10), failing(8));
    static_cast<void>(pipeline.next());
  }
  CHECK_NOTHROW(Engine::get().wait_for_all());
}

TEST_CASE("an error on a GPU's pipeline reaches next() and copies nothing") {
  PipelineOptions options = failing(8);
  options.devices = {Device::gpu(0), Device::gpu(1)};
  Pipeline pipeline(numbered(10), options);
  for (int i = 0; i < 2; ++i) static_cast<void>(pipeline.next());
  CHECK_THROWS_WITH(pipeline.next(), "record 5 is bad");
  CHECK_NOTHROW(Engine::get().wait_for_all());
}

}  // namespace
}  // namespace heddle::io::test
