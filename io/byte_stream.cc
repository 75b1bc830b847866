#include "io/byte_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include <zlib.h>

#include "heddle/error.h"

namespace heddle::io {
namespace {

constexpr std::array<std::uint8_t, 2> kGzipMagic = {0x1f, 0x8b};
constexpr std::size_t kInputChunk = std::size_t{1} << 16U;
constexpr std::uint64_t kMaxExpansion = 1032;  // of the deflate format
constexpr int kGzipWindowBits = 15 + 16;

std::string system_text(int code) { return std::generic_category().message(code); }

}  // namespace

/// Unpacks the members of a gzip file one after the other.
class ByteStream::Unpacker {
 public:
  explicit Unpacker(ByteStream& stream) : stream_(stream), input_(kInputChunk) {
    if (inflateInit2(&z_, kGzipWindowBits) != Z_OK) throw std::bad_alloc();
  }
  ~Unpacker() { static_cast<void>(inflateEnd(&z_)); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size() && !at_end_) {
      if (z_.avail_in == 0 && !refill()) return done;
      const std::size_t room =
          std::min<std::size_t>(out.size() - done, std::numeric_limits<uInt>::max());
      z_.next_out = out.data() + done;
      z_.avail_out = static_cast<uInt>(room);
      step();
      done += room - z_.avail_out;
    }
    return done;
  }

 private:
  void step() {
    between_members_ = false;
    const int result = inflate(&z_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_members_ = true;
      static_cast<void>(inflateReset(&z_));
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      stream_.fail("damaged gzip data before offset " + std::to_string(consumed_ - z_.avail_in) +
                   " of the file: " + (z_.msg != nullptr ? z_.msg : "inflate failed"));
    }
  }

  bool refill() {
    z_.next_in = input_.data();
    z_.avail_in = static_cast<uInt>(stream_.read_file(input_));
    consumed_ += z_.avail_in;
    if (z_.avail_in != 0) return true;
    if (!between_members_) {
      stream_.fail("gzip data cut short at offset " + std::to_string(consumed_) +
                   " of the file, expected more");
    }
    at_end_ = true;
    return false;
  }

  ByteStream& stream_;
  std::vector<std::uint8_t> input_;
  z_stream z_{};
  std::uint64_t consumed_ = 0;  // of the file, what has been put into input_
  bool between_members_ = false;
  bool at_end_ = false;
};

ByteStream::ByteStream(std::string reader, std::string path)
    : reader_(std::move(reader)), path_(std::move(path)) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path_, code);
  if (!std::filesystem::exists(status)) {
    fail("cannot open: " + (code ? code.message() : system_text(ENOENT)));
  }
  if (!std::filesystem::is_regular_file(status)) fail("is not a regular file");
  file_size_ = std::filesystem::file_size(path_, code);
  if (code) fail("cannot tell its size: " + code.message());
  file_.reset(std::fopen(path_.c_str(), "rbe"));
  if (file_ == nullptr) fail("cannot open: " + system_text(errno));

  std::array<std::uint8_t, kGzipMagic.size()> start{};
  const bool has_magic = read_file(start) == start.size() && start == kGzipMagic;
  std::rewind(file_.get());
  if (has_magic) unpacker_ = std::make_unique<Unpacker>(*this);
}

ByteStream::~ByteStream() = default;

std::size_t ByteStream::read(std::span<std::uint8_t> out) {
  return unpacker_ != nullptr ? unpacker_->read(out) : read_file(out);
}

std::size_t ByteStream::read_file(std::span<std::uint8_t> out) {
  errno = 0;
  const std::size_t count = std::fread(out.data(), 1, out.size(), file_.get());
  if (count < out.size() && std::ferror(file_.get()) != 0) {
    fail("cannot read: " + system_text(errno));
  }
  return count;
}

void ByteStream::fail(const std::string& what) const {
  throw Error("[" + reader_ + "] '" + path_ + "': " + what);
}

std::uint64_t ByteStream::max_content() const {
  if (!compressed()) return file_size_;
  return file_size_ > std::numeric_limits<std::uint64_t>::max() / kMaxExpansion
             ? std::numeric_limits<std::uint64_t>::max()
             : file_size_ * kMaxExpansion;
}

}  // namespace heddle::io
