#include <stdexcept>

#include <catch2/catch.hpp>

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

/// Adds to every value a random number, so that a wrong stream shows.
PipelineOptions noisy(LastBatch last_batch, int prefetch = 3) {
  return {.batch_size = 4,
          .shuffle = true,
          .seed = 9,
          .last_batch = last_batch,
          .transforms = {[](Sample& sample) {
            for (float& value : sample.data) value += static_cast<float>(sample.random.uniform());
          }},
          .decode_threads = 2,
          .prefetch = prefetch};
}

/// The data of the next `count` batches; an empty list for the end of an epoch.
std::vector<std::vector<float>> take(Pipeline& pipeline, int count) {
  std::vector<std::vector<float>> batches;
  for (int i = 0; i < count; ++i) {
    const auto batch = pipeline.next();
    batches.push_back(batch ? batch->data.to_vector<float>() : std::vector<float>());
  }
  return batches;
}

TEST_CASE("a restored pipeline goes on like the one whose state it got") {
  const LastBatch last_batch =
      GENERATE(LastBatch::kKeep, LastBatch::kPad, LastBatch::kDiscard, LastBatch::kRollOver);
  const Source source = numbered(10);
  for (const int done : {0, 1, 2, 3, 4, 5, 7, 8}) {
    CAPTURE(last_batch, done);
    Pipeline uninterrupted(source, noisy(last_batch));
    static_cast<void>(take(uninterrupted, done));
    const State state = uninterrupted.state();
    const auto expected = take(uninterrupted, 9);

    Pipeline fresh(source, noisy(last_batch, 1));
    fresh.restore(state);
    CHECK(fresh.state() == state);
    CHECK(take(fresh, 9) == expected);

    Pipeline running(source, noisy(last_batch));
    static_cast<void>(take(running, 2));
    running.restore(state);
    CHECK(take(running, 9) == expected);
  }
}

TEST_CASE("a state equals what its text gives back") {
  Pipeline pipeline(numbered(11), {.batch_size = 4,
                                   .shuffle = true,
                                   .seed = 18446744073709551615U,
                                   .shard = {1, 2},
                                   .last_batch = LastBatch::kRollOver});
  static_cast<void>(take(pipeline, 3));
  const State state = pipeline.state();
  CHECK(state.carried != 0);
  CHECK(State::parse(state.str()) == state);
  CHECK(state.str().find('\n') == std::string::npos);
}

TEST_CASE("text that is no state is refused") {
  const std::string text = State{}.str();
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK_THROWS_AS(State::parse(text.substr(0, length)), std::invalid_argument);
  }
  CHECK_THROWS_AS(State::parse(text + " "), std::invalid_argument);
  CHECK_THROWS_AS(State::parse("epoch=99999999999999999999"), std::invalid_argument);
}

TEST_CASE("the state of another pipeline and impossible positions are refused") {
  Pipeline pipeline(numbered(10), {.batch_size = 4});
  const State good = pipeline.state();
  const auto refuses = [&](auto change) {
    State state = good;
    change(state);
    CHECK_THROWS_AS(pipeline.restore(state), std::invalid_argument);
  };
  refuses([](State& state) { state.seed = 1; });
  refuses([](State& state) { state.batch_size = 5; });
  refuses([](State& state) { state.records = 11; });
  refuses([](State& state) { state.shuffle = true; });
  refuses([](State& state) { state.shard = {0, 2}; });
  refuses([](State& state) { state.last_batch = LastBatch::kPad; });
  refuses([](State& state) { state.index = 4; });
  refuses([](State& state) { state.epoch = -1; });
  refuses([](State& state) { state.carried = 1; });
  CHECK(pipeline.next()->label.to_vector<float>() == counting(4));
}

}  // namespace
}  // namespace heddle::io::test
