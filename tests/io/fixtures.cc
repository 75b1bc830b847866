#include "tests/io/fixtures.h"

#include <numeric>
#include <stdexcept>

#include <zlib.h>

#include "heddle/engine.h"

#include "tests/support/gate.h"

namespace heddle::io::test {

Bytes idx_bytes(std::uint32_t magic, std::initializer_list<std::uint32_t> dims,
                std::span<const std::uint8_t> elements) {
  Bytes bytes;
  const auto add_number = [&bytes](std::uint32_t number) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      bytes.push_back(static_cast<std::uint8_t>(number >> shift));
    }
  };
  add_number(magic);
  for (const std::uint32_t dim : dims) add_number(dim);
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

Bytes image_bytes(std::uint32_t count) {
  Bytes elements;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t p = 0; p < 6; ++p) {
      elements.push_back(static_cast<std::uint8_t>(16 * i + p));
    }
  }
  return idx_bytes(0x803, {count, 2, 3}, elements);
}

Bytes label_bytes(std::uint32_t count) {
  Bytes elements;
  for (std::uint32_t i = 0; i < count; ++i) elements.push_back(static_cast<std::uint8_t>(i % 10));
  return idx_bytes(0x801, {count}, elements);
}

Bytes gzip(std::span<const std::uint8_t> content) {
  z_stream z{};
  if (deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  Bytes packed(deflateBound(&z, content.size()) + 64);
  z.next_in = const_cast<Bytef*>(content.data());
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = packed.data();
  z.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  static_cast<void>(deflateEnd(&z));
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return packed;
}

Source numbered(std::int64_t records, std::int64_t width) {
  std::vector<float> data;
  for (const float value : counting(records)) {
    data.insert(data.end(), static_cast<std::size_t>(width), value);
  }
  return in_memory(NDArray::from(data, {records, width}, Device::cpu()),
                   NDArray::from(counting(records), {records}, Device::cpu()));
}

std::vector<std::vector<float>> epoch_labels(Pipeline& pipeline) {
  std::vector<std::vector<float>> batches;
  while (const auto batch = pipeline.next()) {
    batches.push_back(batch->label.to_vector<float>());
  }
  return batches;
}

std::vector<float> flat_epoch_labels(Pipeline& pipeline) {
  std::vector<float> labels;
  for (const std::vector<float>& batch : epoch_labels(pipeline)) {
    labels.insert(labels.end(), batch.begin(), batch.end());
  }
  return labels;
}

std::vector<std::vector<float>> epoch_data(Pipeline& pipeline) {
  std::vector<std::vector<float>> batches;
  while (const auto batch = pipeline.next()) batches.push_back(batch->data.to_vector<float>());
  return batches;
}

std::vector<float> counting(std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

bool engine_is_parallel() { return support::runs_beside_pusher(Engine::get()); }

}  // namespace heddle::io::test
