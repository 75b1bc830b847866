#include "idx_file.h"

#include <array>
#include <memory>
#include <stdexcept>

#include <zlib.h>

IdxFile read_idx(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  const auto read = [&](std::uint8_t* to, std::size_t size) {
    if (gzread(file.get(), to, static_cast<unsigned>(size)) != static_cast<int>(size)) {
      throw std::runtime_error(path + ": ended early, or is damaged");
    }
  };

  IdxFile result;
  std::array<std::uint8_t, 4> word{};
  read(word.data(), word.size());
  constexpr std::uint8_t kUnsignedBytes = 8;
  if (word[0] != 0 || word[1] != 0 || word[2] != kUnsignedBytes || word[3] == 0) {
    throw std::runtime_error(path + ": expected an IDX file of unsigned bytes");
  }
  std::size_t size = 1;
  for (int dims = word[3]; dims > 0; --dims) {
    read(word.data(), word.size());
    result.dims.push_back(std::size_t{word[0]} << 24U | std::size_t{word[1]} << 16U |
                          std::size_t{word[2]} << 8U | word[3]);
    size *= result.dims.back();
  }
  result.bytes.resize(size);
  read(result.bytes.data(), size);
  return result;
}
