#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// An IDX file of unsigned bytes, plain or gzip, in memory.
struct IdxFile {
  std::vector<std::size_t> dims;
  std::vector<std::uint8_t> bytes;  ///< row-major

  std::size_t row_size() const { return bytes.size() / dims.at(0); }
};

/// Throws std::runtime_error, naming the file, if it is missing, cut short or of another kind.
IdxFile read_idx(const std::string& path);
