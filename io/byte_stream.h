#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::io {

/// The content of a file from its start to its end; if that is gzip, what it unpacks to.
///
/// Thread safety: an object belongs to one thread. Everything blocks on the file and throws Error
/// that names reader and file.
class ByteStream {
 public:
  /// `path` must name a regular file. `reader` is for messages.
  ByteStream(std::string reader, std::string path);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// The next out.size() bytes, or as many as there are; returns their number. Checksums of gzip
  /// have been verified when it returns fewer than asked for.
  std::size_t read(std::span<std::uint8_t> out);

  [[noreturn]] void fail(const std::string& what) const;

  std::uint64_t file_size() const { return file_size_; }
  bool compressed() const { return unpacker_ != nullptr; }
  /// No file of this size has more content.
  std::uint64_t max_content() const;

 private:
  class Unpacker;
  struct Closer {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };

  std::size_t read_file(std::span<std::uint8_t> out);

  std::string reader_;
  std::string path_;
  std::uint64_t file_size_ = 0;
  std::unique_ptr<std::FILE, Closer> file_;
  std::unique_ptr<Unpacker> unpacker_;
};

}  // namespace heddle::io
