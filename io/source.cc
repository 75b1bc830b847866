#include <stdexcept>

#include "heddle/io.h"

#include "io/reader.h"

namespace heddle::io {
namespace {

const Reader& used(const std::shared_ptr<const Reader>& reader, const char* use) {
  if (reader == nullptr) {
    throw std::invalid_argument(std::string("[") + use + "] the source refers to nothing");
  }
  return *reader;
}

}  // namespace

std::int64_t Source::size() const { return used(reader_, "Source::size").size(); }

const Shape& Source::record_shape() const {
  return used(reader_, "Source::record_shape").record_shape();
}

}  // namespace heddle::io
