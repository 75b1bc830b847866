#include <optional>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

TEST_CASE("batch k of an epoch lies on devices[k % size]") {
  const std::vector<Device> devices = {Device::gpu(1), Device::cpu(), Device::gpu(0)};
  Pipeline pipeline(numbered(10), {.batch_size = 2, .devices = devices});
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::size_t k = 0; k < 5; ++k) {
      const Batch batch = pipeline.next().value();
      CHECK(batch.data.device() == devices[k % 3]);
      CHECK(batch.label.device() == devices[k % 3]);
    }
    CHECK_FALSE(pipeline.next().has_value());
  }
}

TEST_CASE("without devices batches lie on the CPU") {
  Pipeline pipeline(numbered(1), {});
  CHECK(pipeline.next()->data.device() == Device::cpu());
}

TEST_CASE("a GPU gets the values that the CPU gets") {
  const Source source = numbered(50);
  Pipeline on_cpu(source, {.batch_size = 7, .shuffle = true});
  Pipeline on_gpu(source, {.batch_size = 7,
                           .shuffle = true,
                           .decode_threads = 2,
                           .devices = {Device::gpu(0), Device::gpu(1)}});
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(epoch_data(on_cpu) == epoch_data(on_gpu));
}

TEST_CASE("a batch outlives its pipeline") {
  const Device device = GENERATE(Device::cpu(), Device::gpu(0));
  std::optional<Batch> batch;
  {
    Pipeline pipeline(numbered(6), {.batch_size = 3, .devices = {device}});
    batch = pipeline.next();
  }
  CHECK(batch->label.to_vector<float>() == counting(3));
}

TEST_CASE("holding every batch of many blocks nothing and changes none") {
  const Device device = GENERATE(Device::cpu(), Device::gpu(0));
  Pipeline pipeline(numbered(200), {.batch_size = 2, .prefetch = 2, .devices = {device}});
  std::vector<Batch> held;
  while (auto batch = pipeline.next()) held.push_back(std::move(*batch));
  std::vector<float> labels;
  for (const Batch& batch : held) {
    for (const float label : batch.label.to_vector<float>()) labels.push_back(label);
  }
  CHECK(labels == counting(200));
}

TEST_CASE("what a consumer writes into its batch stays in that batch") {
  Pipeline pipeline(numbered(4, 1), {.batch_size = 2});
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (auto batch = pipeline.next()) batch->data += 100;
  }
  CHECK(epoch_data(pipeline) == std::vector<std::vector<float>>{{0, 1}, {2, 3}});
}

}  // namespace
}  // namespace heddle::io::test
