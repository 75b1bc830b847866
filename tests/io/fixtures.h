#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "heddle/io.h"

#include "tests/support/temporary_folder.h"

namespace heddle::io::test {

using Bytes = std::vector<std::uint8_t>;

using support::TemporaryFolder;

/// An IDX file: magic number, dimensions, elements.
Bytes idx_bytes(std::uint32_t magic, std::initializer_list<std::uint32_t> dims,
                std::span<const std::uint8_t> elements);
/// `count` images of 2 x 3; pixel p of image i is 16 i + p.
Bytes image_bytes(std::uint32_t count);
/// `count` labels; label i is i % 10.
Bytes label_bytes(std::uint32_t count);
Bytes gzip(std::span<const std::uint8_t> content);

/// `records` records of `width` values; every value and the label of record i are i.
Source numbered(std::int64_t records, std::int64_t width = 3);

/// The labels of each batch of the epoch that next() begins or is in, to its end.
std::vector<std::vector<float>> epoch_labels(Pipeline& pipeline);
/// The same in one list.
std::vector<float> flat_epoch_labels(Pipeline& pipeline);
/// The data of each batch, likewise.
std::vector<std::vector<float>> epoch_data(Pipeline& pipeline);

/// 0, 1, … count - 1.
std::vector<float> counting(std::int64_t count);

/// Operations run beside the thread that pushes them, so that a transform may block.
bool engine_is_parallel();

}  // namespace heddle::io::test
