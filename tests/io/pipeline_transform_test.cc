#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

TEST_CASE("transforms change data and label in place, in their order") {
  Pipeline pipeline(numbered(3, 1), {.batch_size = 3,
                                     .transforms = {[](Sample& sample) { sample.data[0] += 1; },
                                                    [](Sample& sample) {
                                                      sample.data[0] *= 10;
                                                      sample.label = -sample.label;
                                                    }}});
  const Batch batch = pipeline.next().value();
  CHECK(batch.data.to_vector<float>() == std::vector<float>{10, 20, 30});
  CHECK(batch.label.to_vector<float>() == std::vector<float>{0, -1, -2});
}

TEST_CASE("a sample tells the record's id and shape") {
  Pipeline pipeline(numbered(20, 6), {.batch_size = 20,
                                      .shuffle = true,
                                      .transforms = {[](Sample& sample) {
                                        sample.data[0] = static_cast<float>(sample.id);
                                        sample.data[1] = static_cast<float>(sample.shape.dim(0));
                                      }}});
  const Batch batch = pipeline.next().value();
  CHECK(batch.data.at(7).to_vector<float>()[0] == batch.label.at(7).item<float>());
  CHECK(batch.data.at(7).to_vector<float>()[1] == 6);
}

TEST_CASE("a transform leaves the source as it is") {
  Pipeline pipeline(numbered(2, 1), {.batch_size = 2, .transforms = {[](Sample& sample) {
                                                        sample.data[0] += 1;
                                                        sample.label += 1;
                                                      }}});
  CHECK(epoch_data(pipeline) == epoch_data(pipeline));
  CHECK(flat_epoch_labels(pipeline) == std::vector<float>{1, 2});
}

TEST_CASE("random numbers of a sample do not depend on threads, batches or shards") {
  const auto draws = [](PipelineOptions options) {
    options.seed = 11;
    options.shuffle = true;
    options.transforms = {[](Sample& sample) {
      for (float& value : sample.data) value = static_cast<float>(sample.random.uniform());
    }};
    Pipeline pipeline(numbered(40, 2), options);
    std::vector<std::vector<float>> by_id(80);
    for (std::size_t epoch = 0; epoch < 2; ++epoch) {
      while (const auto batch = pipeline.next()) {
        const std::vector<float> ids = batch->label.to_vector<float>();
        for (std::size_t i = 0; i < ids.size(); ++i) {
          by_id[40 * epoch + static_cast<std::size_t>(ids[i])] =
              batch->data.at(static_cast<std::int64_t>(i)).to_vector<float>();
        }
      }
    }
    return by_id;
  };
  const auto expected = draws({.batch_size = 8});
  CHECK(std::set(expected.begin(), expected.end()).size() == 80);
  CHECK(draws({.batch_size = 3, .decode_threads = 4, .prefetch = 9}) == expected);
  const auto shard = draws({.batch_size = 8, .shard = {1, 2}});
  std::size_t of_shard = 0;
  for (std::size_t i = 0; i < shard.size(); ++i) {
    if (shard[i].empty()) continue;
    ++of_shard;
    CHECK(shard[i] == expected[i]);
  }
  CHECK(of_shard == 40);
}

TEST_CASE("no more than decode_threads batches are transformed at the same time") {
  const int decode_threads = GENERATE(1, 2);
  std::mutex mutex;
  int running = 0;
  int most = 0;
  Pipeline pipeline(numbered(200), {.batch_size = 2,
                                    .transforms = {[&](Sample&) {
                                      {
                                        const std::lock_guard lock(mutex);
                                        most = std::max(most, ++running);
                                      }
                                      std::this_thread::yield();
                                      const std::lock_guard lock(mutex);
                                      --running;
                                    }},
                                    .decode_threads = decode_threads,
                                    .prefetch = 8});
  CHECK(flat_epoch_labels(pipeline) == counting(200));
  const std::lock_guard lock(mutex);
  CHECK(most >= 1);
  CHECK(most <= decode_threads);
}

}  // namespace
}  // namespace heddle::io::test
