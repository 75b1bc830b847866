#include <array>
#include <charconv>
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

#include "heddle/io.h"

namespace heddle::io {
namespace {

constexpr std::string_view kHead = "heddle.io.state/1";
constexpr std::array<std::string_view, 4> kLastBatchNames = {"keep", "pad", "discard", "roll_over"};

/// Takes the fields of a text one by one, in their order.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : text_(text), rest_(text) {}

  void expect(std::string_view literal) {
    if (!rest_.starts_with(literal)) fail(literal);
    rest_.remove_prefix(literal.size());
  }
  template <std::integral Number>
  Number number(std::string_view before) {
    expect(before);
    Number value{};
    const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (code != std::errc()) fail("a number after '" + std::string(before) + "'");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  LastBatch last_batch(std::string_view before) {
    expect(before);
    for (std::size_t i = 0; i < kLastBatchNames.size(); ++i) {
      if (rest_ == kLastBatchNames[i]) return static_cast<LastBatch>(i);
    }
    fail("keep, pad, discard or roll_over, and the end");
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw std::invalid_argument("[State::parse] '" + std::string(text_) + "': expected " +
                                std::string(expected) + " at position " +
                                std::to_string(text_.size() - rest_.size()));
  }

  std::string_view text_;
  std::string_view rest_;
};

}  // namespace

std::string State::str() const {
  return std::string(kHead) + " epoch=" + std::to_string(epoch) +
         " index=" + std::to_string(index) + " carried=" + std::to_string(carried) +
         " records=" + std::to_string(records) + " batch_size=" + std::to_string(batch_size) +
         " shuffle=" + (shuffle ? "1" : "0") + " seed=" + std::to_string(seed) +
         " shard=" + std::to_string(shard.index) + "/" + std::to_string(shard.count) +
         " last_batch=" + std::string(kLastBatchNames.at(static_cast<std::size_t>(last_batch)));
}

State State::parse(std::string_view text) {
  FieldReader fields(text);
  State state;
  fields.expect(kHead);
  state.epoch = fields.number<std::int64_t>(" epoch=");
  state.index = fields.number<std::int64_t>(" index=");
  state.carried = fields.number<std::int64_t>(" carried=");
  state.records = fields.number<std::int64_t>(" records=");
  state.batch_size = fields.number<int>(" batch_size=");
  state.shuffle = fields.number<int>(" shuffle=") != 0;
  state.seed = fields.number<std::uint64_t>(" seed=");
  state.shard.index = fields.number<int>(" shard=");
  state.shard.count = fields.number<int>("/");
  state.last_batch = fields.last_batch(" last_batch=");
  return state;
}

}  // namespace heddle::io
