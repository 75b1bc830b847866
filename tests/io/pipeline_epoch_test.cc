#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

using Labels = std::vector<std::vector<float>>;

TEST_CASE("each epoch ends with nullopt once, and the next call begins the following one") {
  Pipeline pipeline(numbered(4), {.batch_size = 2});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::int64_t index = 0; index < 2; ++index) {
      const Batch batch = pipeline.next().value();
      CHECK(batch.epoch == epoch);
      CHECK(batch.index == index);
      CHECK(batch.pad == 0);
    }
    CHECK_FALSE(pipeline.next().has_value());
  }
}

TEST_CASE("a batch holds the records with their labels, in order") {
  Pipeline pipeline(numbered(3, 2), {.batch_size = 3});
  const Batch batch = pipeline.next().value();
  CHECK(batch.data.shape() == Shape{3, 2});
  CHECK(batch.data.to_vector<float>() == std::vector<float>{0, 0, 1, 1, 2, 2});
  CHECK(batch.label.to_vector<float>() == std::vector<float>{0, 1, 2});
}

TEST_CASE("kKeep ends an epoch with a smaller batch") {
  Pipeline pipeline(numbered(5), {.batch_size = 2});
  CHECK(pipeline.batches_per_epoch() == 3);
  CHECK(epoch_labels(pipeline) == Labels{{0, 1}, {2, 3}, {4}});
  CHECK(epoch_labels(pipeline) == Labels{{0, 1}, {2, 3}, {4}});
}

TEST_CASE("kPad fills the last batch from the epoch's start and says how many") {
  Pipeline pipeline(numbered(5), {.batch_size = 3, .last_batch = LastBatch::kPad});
  CHECK(pipeline.next()->pad == 0);
  const Batch last = pipeline.next().value();
  CHECK(last.label.to_vector<float>() == std::vector<float>{3, 4, 0});
  CHECK(last.pad == 1);
  CHECK_FALSE(pipeline.next().has_value());
}

TEST_CASE("kDiscard leaves out what is no whole batch, down to an empty epoch") {
  Pipeline pipeline(numbered(5), {.batch_size = 2, .last_batch = LastBatch::kDiscard});
  CHECK(epoch_labels(pipeline) == Labels{{0, 1}, {2, 3}});
  Pipeline empty(numbered(5), {.batch_size = 6, .last_batch = LastBatch::kDiscard});
  CHECK(empty.batches_per_epoch() == 0);
  CHECK_FALSE(empty.next().has_value());
  CHECK_FALSE(empty.next().has_value());
}

TEST_CASE("kRollOver opens the next epoch with what is left") {
  Pipeline pipeline(numbered(5), {.batch_size = 3, .last_batch = LastBatch::kRollOver});
  CHECK(epoch_labels(pipeline) == Labels{{0, 1, 2}});
  CHECK(pipeline.batches_per_epoch() == 2);
  CHECK(epoch_labels(pipeline) == Labels{{3, 4, 0}, {1, 2, 3}});
  CHECK(epoch_labels(pipeline) == Labels{{4, 0, 1}, {2, 3, 4}});
  CHECK(epoch_labels(pipeline) == Labels{{0, 1, 2}});
}

TEST_CASE("kRollOver gathers a batch from several epochs that are smaller than one") {
  Pipeline pipeline(numbered(2), {.batch_size = 5, .last_batch = LastBatch::kRollOver});
  CHECK(epoch_labels(pipeline).empty());
  CHECK(epoch_labels(pipeline).empty());
  CHECK(epoch_labels(pipeline) == Labels{{0, 1, 0, 1, 0}});
}

TEST_CASE("reset drops the rest of the epoch") {
  Pipeline pipeline(numbered(6), {.batch_size = 2});
  static_cast<void>(pipeline.next());
  pipeline.reset();
  const Batch batch = pipeline.next().value();
  CHECK(batch.epoch == 1);
  CHECK(batch.index == 0);
  CHECK(batch.label.to_vector<float>() == std::vector<float>{0, 1});
}

TEST_CASE("reset between epochs does nothing, so what rolled over stays") {
  Pipeline pipeline(numbered(3), {.batch_size = 2, .last_batch = LastBatch::kRollOver});
  pipeline.reset();
  CHECK(epoch_labels(pipeline) == Labels{{0, 1}});
  pipeline.reset();
  CHECK(epoch_labels(pipeline) == Labels{{2, 0}, {1, 2}});
}

TEST_CASE("reset also drops what rolled into the epoch") {
  Pipeline pipeline(numbered(3), {.batch_size = 2, .last_batch = LastBatch::kRollOver});
  CHECK(epoch_labels(pipeline) == Labels{{0, 1}});
  CHECK(pipeline.next()->label.to_vector<float>() == std::vector<float>{2, 0});
  pipeline.reset();
  CHECK(epoch_labels(pipeline) == Labels{{0, 1}});
}

TEST_CASE("meters count what was delivered, without padding, and the bytes of the files") {
  const TemporaryFolder folder;
  const Bytes images = gzip(image_bytes(5));
  const Bytes labels = label_bytes(5);
  Pipeline pipeline(idx(folder.write("images", images), folder.write("labels", labels)),
                    {.batch_size = 3, .last_batch = LastBatch::kPad});
  CHECK(pipeline.meters().records == 0);
  static_cast<void>(epoch_labels(pipeline));
  const Meters meters = pipeline.meters();
  CHECK(meters.batches == 2);
  CHECK(meters.records == 5);
  CHECK(meters.corrupt == 0);
  CHECK(meters.bytes_read == static_cast<std::int64_t>(images.size() + labels.size()));
}

TEST_CASE("concurrent calls of next() get a batch each") {
  Pipeline pipeline(numbered(300), {.batch_size = 1, .decode_threads = 2});
  std::array<std::vector<float>, 3> met;
  std::vector<std::thread> threads;
  for (std::vector<float>& own : met) {
    threads.emplace_back([&pipeline, &own] {
      for (int i = 0; i < 100; ++i) own.push_back(pipeline.next()->label.item<float>());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<float> all;
  for (const std::vector<float>& own : met) all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end());
  CHECK(all == counting(300));
}

}  // namespace
}  // namespace heddle::io::test
