#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "heddle/error.h"

#include "tests/io/fixtures.h"

namespace heddle::io::test {
namespace {

using Catch::Matchers::Contains;

/// The Error of idx(images, labels), or "" if there is none.
std::string error_of(const std::string& images, const std::string& labels) {
  try {
    static_cast<void>(idx(images, labels));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("idx reads images as N x 1 x H x W and labels as N, both float32 and unscaled") {
  const TemporaryFolder folder;
  Pipeline pipeline(
      idx(folder.write("images", image_bytes(15)), folder.write("labels", label_bytes(15))),
      {.batch_size = 15});
  const Batch batch = pipeline.next().value();
  CHECK(batch.data.shape() == Shape{15, 1, 2, 3});
  CHECK(batch.data.dtype() == DType::kFloat32);
  CHECK(batch.label.shape() == Shape{15});
  CHECK(batch.label.dtype() == DType::kFloat32);
  const std::vector<float> pixels = batch.data.to_vector<float>();
  CHECK(pixels[0] == 0.0F);
  CHECK(pixels[7] == 17.0F);
  CHECK(pixels[14 * 6 + 5] == 229.0F);
  CHECK(batch.label.to_vector<float>()[13] == 3.0F);
}

TEST_CASE("gzip files give what plain ones give, whatever their names") {
  const TemporaryFolder folder;
  const std::string labels = folder.write("labels", label_bytes(9));
  Pipeline plain(idx(folder.write("images", image_bytes(9)), labels), {.batch_size = 4});
  Pipeline packed(idx(folder.write("packed", gzip(image_bytes(9))),
                      folder.write("labels.gz", gzip(label_bytes(9)))),
                  {.batch_size = 4});
  CHECK(epoch_data(plain) == epoch_data(packed));
  CHECK(epoch_labels(plain) == epoch_labels(packed));
}

TEST_CASE("a gzip file of several members is their concatenation") {
  const TemporaryFolder folder;
  const Bytes whole = image_bytes(4);
  Bytes members = gzip(std::span(whole).first(20));
  const Bytes second = gzip(std::span(whole).subspan(20));
  members.insert(members.end(), second.begin(), second.end());
  Pipeline pipeline(idx(folder.write("images", members), folder.write("labels", label_bytes(4))),
                    {});
  CHECK(epoch_data(pipeline)[3] == std::vector<float>{48, 49, 50, 51, 52, 53});
}

TEST_CASE("a source tells its size and the shape of its records") {
  const TemporaryFolder folder;
  const Source source =
      idx(folder.write("images", image_bytes(5)), folder.write("labels", label_bytes(5)));
  CHECK(source.size() == 5);
  CHECK(source.record_shape() == Shape{1, 2, 3});
}

TEST_CASE("sources over the same files share a reader, also by another path") {
  const TemporaryFolder folder;
  const std::string images = folder.write("images", image_bytes(5));
  const std::string labels = folder.write("labels", label_bytes(5));
  std::filesystem::create_symlink(images, folder.path("link"));
  const Source source = idx(images, labels);
  CHECK(idx(images, labels) == source);
  CHECK(idx(folder.path("link"), labels) == source);
  folder.write("others", image_bytes(5));
  CHECK(idx(folder.path("others"), labels) != source);
}

TEST_CASE("a file that was changed is read anew") {
  const TemporaryFolder folder;
  const std::string images = folder.write("images", image_bytes(5));
  const std::string labels = folder.write("labels", label_bytes(5));
  const Source before = idx(images, labels);
  folder.write("images", image_bytes(6));
  folder.write("labels", label_bytes(6));
  CHECK(idx(images, labels).size() == 6);
  CHECK(before.size() == 5);
}

TEST_CASE("a plain file cut short at any offset is an error that names file and offset") {
  const TemporaryFolder folder;
  const std::string labels = folder.write("labels", label_bytes(3));
  const Bytes whole = image_bytes(3);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string path = folder.write("images", std::span(whole).first(length));
    const std::string error = error_of(path, labels);
    CAPTURE(length, error);
    CHECK(error.find("[idx] '" + path + "': cut short at offset " + std::to_string(length)) == 0);
  }
}

TEST_CASE("a gzip file cut short at any offset is an error that names the file") {
  const TemporaryFolder folder;
  const std::string images = folder.write("images", image_bytes(3));
  const Bytes whole = gzip(label_bytes(3));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string path = folder.write("labels", std::span(whole).first(length));
    const std::string error = error_of(images, path);
    CAPTURE(length, error);
    CHECK(error.find("[idx] '" + path + "': ") == 0);
  }
}

TEST_CASE("a gzip file with a damaged byte is an error or unchanged content") {
  const TemporaryFolder folder;
  const std::string images = folder.write("images", image_bytes(3));
  const Bytes whole = gzip(label_bytes(3));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= 0x5aU;
    const std::string path = folder.write("labels", damaged);
    CAPTURE(at);
    try {  // time of the file's making, operating system …
      Pipeline pipeline(idx(images, path), {});
      CHECK(flat_epoch_labels(pipeline) == counting(3));
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Contains(path));
    }
  }
}

TEST_CASE("bytes beyond the last element are an error") {
  const TemporaryFolder folder;
  Bytes labels = label_bytes(3);
  labels.push_back(0);
  const bool packed = GENERATE(false, true);
  CHECK_THAT(error_of(folder.write("images", image_bytes(3)),
                      folder.write("labels", packed ? gzip(labels) : labels)),
             Contains("goes on at offset 11"));
}

TEST_CASE("labels given as images are an error that says so") {
  const TemporaryFolder folder;
  const std::string images = folder.write("images", image_bytes(3));
  const std::string labels = folder.write("labels", label_bytes(3));
  const std::string error = error_of(labels, images);
  CHECK_THAT(error, Contains("0x00000803") && Contains("0x00000801") && Contains("swapped"));
}

TEST_CASE("a wrong magic number is an error that gives both numbers") {
  const TemporaryFolder folder;
  const Bytes floats = idx_bytes(0x0d03, {1, 1, 1}, Bytes(4));
  CHECK_THAT(error_of(folder.write("images", floats), folder.write("labels", label_bytes(1))),
             Contains("offset 0") && Contains("0x00000d03") && Contains("expected 0x00000803"));
}

TEST_CASE("dimensions that no file of that size can hold are an error and take no memory") {
  const TemporaryFolder folder;
  const std::string labels = folder.write("labels", label_bytes(3));
  const std::uint32_t huge = 0xffffffffU;
  for (const auto& dims : {std::array{huge, 1U, 1U}, std::array{huge, huge, 1U},
                           std::array{huge, huge, huge}, std::array{1U, huge, huge}}) {
    const Bytes images = idx_bytes(0x803, {dims[0], dims[1], dims[2]}, Bytes(10));
    for (const Bytes& content : {images, gzip(images)}) {
      const std::string error = error_of(folder.write("images", content), labels);
      CAPTURE(error);
      CHECK_THAT(error, Contains("cut short") || Contains("overflows 64 bits"));
    }
  }
}

TEST_CASE("a gzip file that promises more than it holds is an error") {
  const TemporaryFolder folder;
  const Bytes labels = gzip(idx_bytes(0x801, {30000}, Bytes(20000)));
  CHECK_THAT(error_of(folder.write("images", image_bytes(3)), folder.write("labels", labels)),
             Contains("cut short at offset 20008: expected 30008 bytes unpacked"));
}

TEST_CASE("a dimension of 0 is an error") {
  const TemporaryFolder folder;
  CHECK_THAT(error_of(folder.write("images", idx_bytes(0x803, {3, 0, 2}, {})),
                      folder.write("labels", label_bytes(3))),
             Contains("dimension at offset 8 is 0, expected at least 1"));
}

TEST_CASE("unequal numbers of images and labels are an error that names both files") {
  const TemporaryFolder folder;
  const std::string images = folder.write("images", image_bytes(4));
  const std::string labels = folder.write("labels", label_bytes(3));
  CHECK_THAT(error_of(images, labels),
             Contains(images) && Contains(labels) && Contains("has 3 labels, expected 4"));
}

TEST_CASE("a missing file and a folder are errors that name them") {
  const TemporaryFolder folder;
  const std::string labels = folder.write("labels", label_bytes(3));
  CHECK_THAT(error_of(folder.path("nowhere"), labels),
             Contains(folder.path("nowhere")) && Contains("No such file"));
  CHECK_THAT(error_of(folder.path(""), labels), Contains("is not a regular file"));
}

}  // namespace
}  // namespace heddle::io::test
