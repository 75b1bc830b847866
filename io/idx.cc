#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/error.h"
#include "heddle/io.h"

#include "io/byte_stream.h"
#include "io/reader.h"
#include "io/reader_registry.h"

namespace heddle::io {
namespace {

// A big-endian number says type (0x08: unsigned bytes) and number of dimensions; those follow,
// each as a big-endian number of 32 bits, then the elements, row-major.
constexpr std::uint32_t kImagesMagic = 0x00000803;
constexpr std::uint32_t kLabelsMagic = 0x00000801;
constexpr std::size_t kNumberBytes = 4;
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kFirstGrowth = std::size_t{1} << 20U;

struct IdxFile {
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> elements;
  std::int64_t file_size = 0;
};

const char* kind_name(std::uint32_t magic) {
  switch (magic) {
    case kImagesMagic:
      return "images of unsigned bytes";
    case kLabelsMagic:
      return "labels of unsigned bytes";
    default:
      return "no IDX file that is known";
  }
}

std::string hex(std::uint32_t number) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) {
    text += kDigits[(number >> static_cast<unsigned>(shift)) & 0xfU];
  }
  return text;
}

std::uint32_t read_number(ByteStream& stream, std::size_t offset, const char* what) {
  std::array<std::uint8_t, kNumberBytes> bytes{};
  const std::size_t count = stream.read(bytes);
  if (count < bytes.size()) {
    stream.fail("cut short at offset " + std::to_string(offset + count) + ": expected the " + what +
                ", 4 bytes from offset " + std::to_string(offset));
  }
  std::uint32_t number = 0;
  for (const std::uint8_t byte : bytes) number = number << 8U | byte;
  return number;
}

void check_magic(ByteStream& stream, std::uint32_t expected) {
  const std::uint32_t magic = read_number(stream, 0, "magic number");
  if (magic == expected) return;
  const bool swapped = magic == kImagesMagic || magic == kLabelsMagic;
  stream.fail("magic number at offset 0 is " + hex(magic) + " (" + kind_name(magic) +
              "), expected " + hex(expected) + " (" + kind_name(expected) + ")" +
              (swapped ? ": are images and labels swapped?" : ""));
}

/// Reads the dimensions and returns the number of elements they stand for.
std::uint64_t read_dims(ByteStream& stream, std::vector<std::int64_t>& dims) {
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t offset = kNumberBytes * (i + 1);
    const std::uint32_t dim = read_number(stream, offset, "dimension");
    if (dim == 0) {
      stream.fail("dimension at offset " + std::to_string(offset) + " is 0, expected at least 1");
    }
    if (__builtin_mul_overflow(product, std::uint64_t{dim}, &product)) {
      stream.fail("dimension at offset " + std::to_string(offset) + " is " + std::to_string(dim) +
                  ": the number of elements overflows 64 bits");
    }
    dims[i] = dim;
  }
  return product;
}

// A header is not believed: memory grows with what the file turns out to hold.
std::vector<std::uint8_t> read_elements(ByteStream& stream, std::uint64_t expected,
                                        std::uint64_t header) {
  const auto cut_short = [&](std::uint64_t count) {
    stream.fail("cut short at offset " + std::to_string(header + count) + ": expected " +
                std::to_string(header + expected) + " bytes" +
                (stream.compressed() ? " unpacked" : "") + ", by the dimensions in its header");
  };
  const std::uint64_t most = stream.max_content() - std::min(stream.max_content(), header);
  if (expected > most) cut_short(most);
  std::vector<std::uint8_t> elements;
  if (!stream.compressed()) elements.reserve(expected);
  while (elements.size() < expected) {
    const std::size_t have = elements.size();
    elements.resize(std::min<std::uint64_t>(expected, std::max(2 * have, kFirstGrowth)));
    const std::size_t count = stream.read(std::span(elements).subspan(have));
    if (have + count < elements.size()) cut_short(have + count);
  }
  std::array<std::uint8_t, 1> beyond{};
  if (stream.read(beyond) != 0) {
    stream.fail("goes on at offset " + std::to_string(header + expected) +
                ", expected its end there, by the dimensions in its header");
  }
  return elements;
}

IdxFile read_idx(const std::string& path, std::uint32_t magic, std::size_t ndim) {
  ByteStream stream("idx", path);
  check_magic(stream, magic);
  IdxFile file;
  file.dims.resize(ndim);
  file.file_size = static_cast<std::int64_t>(stream.file_size());
  const std::uint64_t count = read_dims(stream, file.dims);
  file.elements = read_elements(stream, count, kNumberBytes * (ndim + 1));
  return file;
}

// Blocks of fixed length are what compilers turn into vector code at every level of optimization.
void widen(const std::uint8_t* __restrict from, std::span<float> values) {
  constexpr std::size_t kBlock = 16;
  float* __restrict to = values.data();
  const std::size_t count = values.size();
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    for (std::size_t j = 0; j < kBlock; ++j) to[i + j] = static_cast<float>(from[i + j]);
  }
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

/// Keeps both files in memory, as bytes.
class IdxReader final : public Reader {
 public:
  IdxReader(IdxFile images, IdxFile labels)
      : Reader(images.dims[0], {1, images.dims[1], images.dims[2]}),
        images_(std::move(images)),
        labels_(std::move(labels)) {}

  std::span<const Var> variables() const override { return {}; }

  void read(std::int64_t id, std::span<float> data, float& label) const override {
    const auto record = static_cast<std::size_t>(id);
    widen(images_.elements.data() + record * data.size(), data);
    label = static_cast<float>(labels_.elements[record]);
  }

  // Shuffled records lie anywhere in memory: waiting for it would cost several times what the
  // conversion does.
  void prefetch(std::int64_t id) const override {
    const auto width = static_cast<std::size_t>(record_shape().size());
    const std::uint8_t* record = images_.elements.data() + static_cast<std::size_t>(id) * width;
    for (std::size_t i = 0; i < width; i += kCacheLine) __builtin_prefetch(record + i);
  }

  std::int64_t bytes_read() const override { return images_.file_size + labels_.file_size; }

 private:
  IdxFile images_;
  IdxFile labels_;
};

}  // namespace

Source idx(const std::string& images, const std::string& labels) {
  const std::array<std::string, 2> files = {images, labels};
  return Source(shared_reader("idx", files, [&]() -> std::shared_ptr<const Reader> {
    IdxFile label_file = read_idx(labels, kLabelsMagic, 1);
    IdxFile image_file = read_idx(images, kImagesMagic, 3);
    if (image_file.dims[0] != label_file.dims[0]) {
      throw Error("[idx] '" + labels + "': has " + std::to_string(label_file.dims[0]) +
                  " labels, expected " + std::to_string(image_file.dims[0]) +
                  ", the number of images in '" + images + "'");
    }
    return std::make_shared<const IdxReader>(std::move(image_file), std::move(label_file));
  }));
}

}  // namespace heddle::io
