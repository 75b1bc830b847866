#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

std::vector<float> sorted(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// The labels of the first two epochs.
std::vector<std::vector<float>> two_epochs(const PipelineOptions& options) {
  Pipeline pipeline(numbered(100), options);
  std::vector<float> first = flat_epoch_labels(pipeline);
  return {std::move(first), flat_epoch_labels(pipeline)};
}

TEST_CASE("a shuffled epoch is a permutation of the set, another one in each epoch") {
  const auto epochs = two_epochs({.batch_size = 7, .shuffle = true});
  CHECK(sorted(epochs[0]) == counting(100));
  CHECK(sorted(epochs[1]) == counting(100));
  CHECK(epochs[0] != counting(100));
  CHECK(epochs[0] != epochs[1]);
}

TEST_CASE("the permutation depends on the seed") {
  const auto of_seed = [](std::uint64_t seed) {
    return two_epochs({.batch_size = 7, .shuffle = true, .seed = seed});
  };
  CHECK(of_seed(1) == of_seed(1));
  CHECK(of_seed(1) != of_seed(2));
}

TEST_CASE("the order does not depend on batch_size, decode_threads or prefetch") {
  const auto expected = two_epochs({.batch_size = 7, .shuffle = true, .seed = 3});
  for (const int batch_size : {1, 7, 100, 1000}) {
    for (const int decode_threads : {1, 3}) {
      for (const int prefetch : {1, 2, 16}) {
        CAPTURE(batch_size, decode_threads, prefetch);
        CHECK(two_epochs({.batch_size = batch_size,
                          .shuffle = true,
                          .seed = 3,
                          .decode_threads = decode_threads,
                          .prefetch = prefetch}) == expected);
      }
    }
  }
}

TEST_CASE("shards deal one permutation of the whole set in turn") {
  const auto whole = two_epochs({.shuffle = true, .seed = 4});
  std::vector<std::vector<float>> dealt(2, std::vector<float>(100));
  for (int index = 0; index < 3; ++index) {
    const auto shard = two_epochs({.shuffle = true, .seed = 4, .shard = {index, 3}});
    for (std::size_t epoch = 0; epoch < 2; ++epoch) {
      CHECK(shard[epoch].size() == (index == 0 ? 34 : 33));
      for (std::size_t i = 0; i < shard[epoch].size(); ++i) {
        dealt[epoch][static_cast<std::size_t>(index) + 3 * i] = shard[epoch][i];
      }
    }
  }
  CHECK(dealt == whole);
}

TEST_CASE("records that roll over keep the order of their own epoch") {
  const auto whole = two_epochs({.shuffle = true, .seed = 5});
  Pipeline pipeline(
      numbered(100),
      {.batch_size = 60, .shuffle = true, .seed = 5, .last_batch = LastBatch::kRollOver});
  static_cast<void>(flat_epoch_labels(pipeline));
  const std::vector<float> second = flat_epoch_labels(pipeline);
  std::vector<float> expected(whole[0].begin() + 60, whole[0].end());
  expected.insert(expected.end(), whole[1].begin(), whole[1].begin() + 80);
  CHECK(second == expected);
}

}  // namespace
}  // namespace heddle::io::test
