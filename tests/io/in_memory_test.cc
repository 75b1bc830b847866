#include <stdexcept>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/error.h"

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

TEST_CASE("in_memory delivers what idx delivers for the same values") {
  const TemporaryFolder folder;
  const std::vector<std::uint8_t> file = image_bytes(11);
  Pipeline from_file(idx(folder.write("images", file), folder.write("labels", label_bytes(11))),
                     {.batch_size = 4, .shuffle = true});
  const std::vector<float> pixels(file.begin() + 16, file.end());
  std::vector<float> labels = counting(11);
  labels[10] = 0;
  Pipeline from_arrays(in_memory(NDArray::from(pixels, {11, 1, 2, 3}), NDArray::from(labels, {11})),
                       {.batch_size = 4, .shuffle = true});
  CHECK(epoch_data(from_file) == epoch_data(from_arrays));
  CHECK(epoch_labels(from_file) == epoch_labels(from_arrays));
}

TEST_CASE("in_memory takes other types and labels of N x 1") {
  Pipeline pipeline(in_memory(NDArray::from<std::uint8_t>({1, 2, 3, 4}, {2, 2}),
                              NDArray::from<std::int32_t>({7, 8}, {2, 1})),
                    {.batch_size = 2});
  const Batch batch = pipeline.next().value();
  CHECK(batch.data.to_vector<float>() == std::vector<float>{1, 2, 3, 4});
  CHECK(batch.label.shape() == Shape{2});
  CHECK(batch.label.to_vector<float>() == std::vector<float>{7, 8});
}

TEST_CASE("in_memory takes arrays of a GPU") {
  Pipeline pipeline(in_memory(NDArray::from<float>({1, 2, 3, 4}, {2, 2}, Device::gpu(0)),
                              NDArray::from<float>({7, 8}, {2}, Device::gpu(1))),
                    {.batch_size = 2});
  CHECK(pipeline.next()->data.to_vector<float>() == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("in_memory keeps the values that the arrays had when it was called") {
  NDArray data = NDArray::from<float>({1, 2}, {2, 1});
  const Source source = in_memory(data, NDArray::zeros({2}));
  data *= 100;
  Pipeline pipeline(source, {.batch_size = 2});
  CHECK(pipeline.next()->data.to_vector<float>() == std::vector<float>{1, 2});
}

TEST_CASE("an error that poisons an array of in_memory reaches next()") {
  const NDArray data({2, 1}, Device::cpu());
  Engine::get().push([] { throw std::runtime_error("no data today"); }, {}, {data.var()});
  Pipeline pipeline(in_memory(data, NDArray::zeros({2})), {});
  CHECK_THROWS_WITH(pipeline.next(), Catch::Matchers::Contains("no data today"));
}

TEST_CASE("shapes that do not fit are refused by in_memory") {
  CHECK_THROWS_AS(in_memory(NDArray::zeros({4}), NDArray::zeros({4})), std::invalid_argument);
  CHECK_THROWS_AS(in_memory(NDArray::zeros({4, 2}), NDArray::zeros({3})), std::invalid_argument);
  CHECK_THROWS_AS(in_memory(NDArray::zeros({4, 2}), NDArray::zeros({4, 2})), std::invalid_argument);
  CHECK_THROWS_AS(in_memory(NDArray::zeros({0, 2}), NDArray::zeros({0})), std::invalid_argument);
  CHECK_THROWS_AS(in_memory(NDArray(), NDArray::zeros({4})), std::invalid_argument);
}

}  // namespace
}  // namespace heddle::io::test
