#include "heddle/trace.h"

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using heddle::Device;
using heddle::DeviceActivity;
using heddle::Lane;
using heddle::OpRecord;
using heddle::Outcome;

OpRecord record(std::uint64_t sequence, std::string name, Lane lane, std::int64_t started,
                std::int64_t done, Device device = Device::cpu()) {
  return {.sequence = sequence,
          .name = std::move(name),
          .device = device,
          .lane = lane,
          .outcome = Outcome::kCompleted,
          .pushed = started,
          .ready = started,
          .issued = started,
          .started = started,
          .done = done};
}

/// Accepts exactly the texts of the JSON grammar (RFC 8259), except that it takes any UTF-8 for
/// granted.
class JsonGrammar {
 public:
  static bool accepts(std::string_view text) {
    JsonGrammar grammar(text);
    return grammar.value() && (grammar.space(), grammar.rest_.empty());
  }

 private:
  explicit JsonGrammar(std::string_view text) : rest_(text) {}

  void space() {
    while (!rest_.empty() && std::string_view(" \n\r\t").find(rest_[0]) != std::string_view::npos) {
      rest_.remove_prefix(1);
    }
  }
  bool take(std::string_view token) {
    space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool value() {
    if (take("{")) return members("}", [this] { return string() && take(":") && value(); });
    if (take("[")) return members("]", [this] { return value(); });
    return string() || take("true") || take("false") || take("null") || number();
  }
  template <class Member>
  bool members(std::string_view end, Member member) {
    if (take(end)) return true;
    do {
      if (!member()) return false;
    } while (take(","));
    return take(end);
  }
  bool string() {
    if (!take("\"")) return false;
    while (!rest_.empty() && rest_[0] != '"') {
      if (static_cast<unsigned char>(rest_[0]) < 0x20) return false;
      const bool escaped = rest_[0] == '\\';
      rest_.remove_prefix(1);
      if (escaped && !escape()) return false;
    }
    return take("\"");
  }
  bool escape() {
    if (rest_.empty()) return false;
    const char kind = rest_[0];
    rest_.remove_prefix(1);
    if (kind != 'u') return std::string_view("\"\\/bfnrt").find(kind) != std::string_view::npos;
    for (int i = 0; i < 4; ++i, rest_.remove_prefix(1)) {
      if (rest_.empty() || std::isxdigit(static_cast<unsigned char>(rest_[0])) == 0) return false;
    }
    return true;
  }
  bool digits() {
    const std::size_t before = rest_.size();
    while (!rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_[0])) != 0) {
      rest_.remove_prefix(1);
    }
    return rest_.size() < before;
  }
  bool number() {
    if (rest_.starts_with("-")) rest_.remove_prefix(1);
    if (!digits()) return false;
    if (!rest_.starts_with(".")) return true;
    rest_.remove_prefix(1);
    return digits();
  }

  std::string_view rest_;
};

std::string chrome_trace(const std::vector<OpRecord>& records) {
  std::ostringstream out;
  heddle::write_chrome_trace(out, records);
  return out.str();
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t result = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++result;
  return result;
}

TEST_CASE("every lane has its own name") {
  CHECK(std::string(lane_name(Lane::kCompute)) == "compute");
  CHECK(std::string(lane_name(Lane::kCopyIn)) == "copy_in");
  CHECK(std::string(lane_name(Lane::kCopyOut)) == "copy_out");
  CHECK(std::string(lane_name(Lane::kComm)) == "comm");
  CHECK(std::string(lane_name(Lane::kBlocking)) == "blocking");
}

TEST_CASE("a summary counts overlapping operations of one kind once") {
  const auto devices = heddle::summarize(std::vector{record(1, "a", Lane::kCompute, 0, 100),
                                                     record(2, "b", Lane::kCompute, 50, 120),
                                                     record(3, "c", Lane::kCompute, 200, 210)});
  REQUIRE(devices.size() == 1);
  CHECK(devices.at(Device::cpu()).compute == Approx(130e-9));
}

TEST_CASE("a copy is hidden while an operation of any device computes") {
  const Device other = Device::cpu(1);
  const auto devices = heddle::summarize(std::vector{
      record(1, "in", Lane::kCopyIn, 0, 100), record(2, "out", Lane::kCopyOut, 100, 200),
      record(3, "here", Lane::kCompute, 20, 40),
      record(4, "there", Lane::kCompute, 150, 300, other)});
  const DeviceActivity& activity = devices.at(Device::cpu());
  CHECK(activity.copy == Approx(200e-9));
  CHECK(activity.copy_hidden == Approx(70e-9));
  CHECK(devices.at(other).copy == 0);
}

TEST_CASE("communication is summed apart from copies") {
  const auto devices = heddle::summarize(std::vector{record(1, "sum", Lane::kComm, 0, 100),
                                                     record(2, "dot", Lane::kCompute, 90, 130)});
  const DeviceActivity& activity = devices.at(Device::cpu());
  CHECK(activity.comm == Approx(100e-9));
  CHECK(activity.comm_hidden == Approx(10e-9));
  CHECK(activity.copy == 0);
}

TEST_CASE("operations that never ran and reading from files are no activity") {
  OpRecord skipped = record(1, "skipped", Lane::kCompute, 0, 100);
  skipped.outcome = Outcome::kSkipped;
  const auto devices =
      heddle::summarize(std::vector{skipped, record(2, "read", Lane::kBlocking, 0, 100)});
  REQUIRE(devices.size() == 1);
  CHECK(devices.at(Device::cpu()).compute == 0);
  CHECK(devices.at(Device::cpu()).copy == 0);
}

TEST_CASE("a trace of nothing is valid JSON") { CHECK(JsonGrammar::accepts(chrome_trace({}))); }

TEST_CASE("a trace has one complete event per operation that ran, in microseconds from the first") {
  OpRecord cancelled = record(9, "cancelled", Lane::kCompute, 5000, 6000);
  cancelled.outcome = Outcome::kCancelled;
  OpRecord failed = record(8, "failed", Lane::kCopyIn, 1'003'007, 1'004'000);
  failed.outcome = Outcome::kFailed;
  const std::string text =
      chrome_trace({failed, cancelled, record(7, "dot", Lane::kCompute, 1'000'000, 1'001'500)});
  CHECK(JsonGrammar::accepts(text));
  CHECK(count(text, R"("ph":"X")") == 2);
  CHECK(count(text,
              R"("name":"dot","cat":"compute","pid":1,"tid":1,"ts":0.000,"dur":1.500,"id":7)") ==
        1);
  CHECK(count(text, R"("ts":3.007,"dur":0.993,"id":8,"args":{"sequence":8,"outcome":"failed")") ==
        1);
}

TEST_CASE("a trace names a process per device and a thread per lane") {
  const std::string text =
      chrome_trace({record(1, "a", Lane::kCompute, 0, 10), record(2, "b", Lane::kCopyIn, 0, 10),
                    record(3, "c", Lane::kCompute, 0, 10, Device::cpu(1)),
                    record(4, "d", Lane::kCompute, 20, 30)});
  CHECK(JsonGrammar::accepts(text));
  const std::string process = R"("name":"process_name","pid":)";
  CHECK(count(text, process + R"-(1,"tid":0,"args":{"name":"cpu(0)"})-") == 1);
  CHECK(count(text, process + R"-(2,"tid":0,"args":{"name":"cpu(1)"})-") == 1);
  CHECK(count(text, R"("thread_name")") == 3);
  CHECK(count(text, R"("args":{"name":"copy_in"})") == 1);
}

TEST_CASE("operations that overlap in one lane are drawn on threads of their own") {
  const std::string text =
      chrome_trace({record(1, "a", Lane::kCompute, 0, 10), record(2, "b", Lane::kCompute, 5, 15),
                    record(3, "c", Lane::kCompute, 10, 20)});
  CHECK(count(text, R"("name":"a","cat":"compute","pid":1,"tid":1,)") == 1);
  CHECK(count(text, R"("name":"b","cat":"compute","pid":1,"tid":2,)") == 1);
  CHECK(count(text, R"("name":"c","cat":"compute","pid":1,"tid":1,)") == 1);
}

TEST_CASE("names are escaped in a trace") {
  const std::string text = chrome_trace(
      {record(1, "a\"b\\c\n\x01", Lane::kCompute, 0, 1), record(2, "größe", Lane::kCompute, 2, 3)});
  CHECK(JsonGrammar::accepts(text));
  CHECK(count(text, R"("a\"b\\c\u000a\u0001")") == 1);
  CHECK(count(text, "\"größe\"") == 1);
}

TEST_CASE("bytes of a name that are not UTF-8 become the replacement character") {
  const std::vector<std::string> broken = {"\x80", "\xC0\xAF", "\xE2\x82", "\xED\xA0\x80", "\xF5"};
  for (const std::string& name : broken) {
    const std::string text = chrome_trace({record(1, name, Lane::kCompute, 0, 1)});
    CHECK(JsonGrammar::accepts(text));
    CHECK(count(text, "\\ufffd") == name.size());
    CHECK(count(text, name) == 0);
  }
}

struct Grouping : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_CASE("a trace does not depend on the stream's locale") {
  const std::vector<OpRecord> records = {record(1234567, "a", Lane::kCompute, 0, 5'000'000)};
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new Grouping));
  heddle::write_chrome_trace(out, records);
  CHECK(out.str() == chrome_trace(records));
}

}  // namespace
