#include "heddle/trace.h"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {
namespace {

bool ran(const OpRecord& record) {
  return record.outcome == Outcome::kCompleted || record.outcome == Outcome::kFailed;
}

// Summary.

struct Interval {
  std::int64_t begin;
  std::int64_t end;
};
using Intervals = std::vector<Interval>;

Intervals merged(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Intervals result;
  for (const Interval& interval : intervals) {
    if (!result.empty() && interval.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, interval.end);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

double total_seconds(const Intervals& disjoint) {
  std::int64_t total = 0;
  for (const Interval& interval : disjoint) total += interval.end - interval.begin;
  return seconds(total);
}

/// Length of the intersection of two sorted lists of disjoint intervals.
double common_seconds(const Intervals& a, const Intervals& b) {
  std::int64_t total = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::int64_t begin = std::max(a[i].begin, b[j].begin);
    const std::int64_t end = std::min(a[i].end, b[j].end);
    total += std::max<std::int64_t>(0, end - begin);
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return seconds(total);
}

struct DeviceIntervals {
  Intervals compute;
  Intervals copy;
  Intervals comm;
};

Intervals* intervals_of(DeviceIntervals& device, Lane lane) {
  switch (lane) {
    case Lane::kCompute:
      return &device.compute;
    case Lane::kCopyIn:
    case Lane::kCopyOut:
      return &device.copy;
    case Lane::kComm:
      return &device.comm;
    case Lane::kBlocking:
      return nullptr;
  }
  return nullptr;
}

// Chrome trace.

/// The length of the UTF-8 sequence that `text` begins with, or 0 if it begins with none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  // What the second byte may be excludes overlong forms, surrogates and values above U+10FFFF.
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

/// `text` as a JSON string; what is not UTF-8 becomes U+FFFD.
std::string quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      result += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      result += {'\\', text[0]};
    } else if (first < 0x20) {
      result += "\\u00";
      result += {kHex[first / 16U], kHex[first % 16U]};
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result + '"';
}

/// Nanoseconds as microseconds, exactly and in any locale.
std::string microseconds(std::int64_t nanoseconds) {
  const std::string fraction = std::to_string(1000 + nanoseconds % 1000);
  return std::to_string(nanoseconds / 1000) + '.' + fraction.substr(1);
}

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted:
      return "completed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kSkipped:
      return "skipped";
    case Outcome::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

/// Which row of its lane each operation is drawn on. A viewer nests or drops events of one row that
/// overlap, so operations that ran side by side go to different rows.
class Rows {
 public:
  /// The first row that is free at `started`, taken until `done`. Calls are in order of `started`.
  std::size_t place(const OpRecord& record) {
    auto& busy_until = busy_until_[{record.device, record.lane}];
    std::size_t row = 0;
    while (row < busy_until.size() && busy_until[row] > record.started) ++row;
    if (row == busy_until.size()) busy_until.push_back(0);
    busy_until[row] = record.done;
    return row;
  }
  const std::map<std::pair<Device, Lane>, std::vector<std::int64_t>>& used() const {
    return busy_until_;
  }

 private:
  std::map<std::pair<Device, Lane>, std::vector<std::int64_t>> busy_until_;
};

std::string process_and_thread(int process, std::size_t thread) {
  return "\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread);
}

/// Rows of a lane follow each other; thread numbers begin at 1.
std::size_t thread_number(Lane lane, std::size_t row) {
  constexpr std::size_t kRowsPerLane = 10000;
  return static_cast<std::size_t>(lane) * kRowsPerLane + row + 1;
}

void write_metadata(std::ostream& out, std::string_view kind, const std::string& place,
                    const std::string& arguments) {
  out << R"({"ph":"M","name":")" << kind << "\"," << place << ",\"args\":{" << arguments << "}},\n";
}

void write_event(std::ostream& out, const OpRecord& record, const std::string& place,
                 std::int64_t origin) {
  out << R"({"ph":"X","name":)" << quoted(record.name.empty() ? "operation" : record.name)
      << R"(,"cat":")" << lane_name(record.lane) << "\"," << place
      << ",\"ts\":" << microseconds(record.started - origin)
      << ",\"dur\":" << microseconds(record.done - record.started)
      << ",\"id\":" << std::to_string(record.sequence) << R"(,"args":{"sequence":)"
      << std::to_string(record.sequence) << R"(,"outcome":")" << outcome_name(record.outcome)
      << "\",\"waited_us\":" << microseconds(record.ready - record.pushed)
      << ",\"queued_us\":" << microseconds(record.started - record.ready) << "}}";
}

/// Those that ran, by start.
std::vector<const OpRecord*> drawn(std::span<const OpRecord> records) {
  std::vector<const OpRecord*> result;
  for (const OpRecord& record : records) {
    if (ran(record)) result.push_back(&record);
  }
  std::sort(result.begin(), result.end(), [](const OpRecord* a, const OpRecord* b) {
    return std::pair(a->started, a->sequence) < std::pair(b->started, b->sequence);
  });
  return result;
}

}  // namespace

const char* lane_name(Lane lane) {
  switch (lane) {
    case Lane::kCompute:
      return "compute";
    case Lane::kCopyIn:
      return "copy_in";
    case Lane::kCopyOut:
      return "copy_out";
    case Lane::kComm:
      return "comm";
    case Lane::kBlocking:
      return "blocking";
  }
  return "unknown";
}

std::vector<OpRecord> on_model_clock(std::span<const OpRecord> records) {
  std::vector<OpRecord> modelled(records.begin(), records.end());
  for (OpRecord& record : modelled) {
    record.pushed = record.ready = record.issued = record.started = record.modelled_start;
    record.done = record.modelled_end;
  }
  return modelled;
}

std::map<Device, DeviceActivity> summarize(std::span<const OpRecord> records) {
  std::map<Device, DeviceIntervals> devices;
  Intervals computing;
  for (const OpRecord& record : records) {
    if (!ran(record)) continue;
    const Interval interval{record.started, record.done};
    if (record.lane == Lane::kCompute) computing.push_back(interval);
    Intervals* const intervals = intervals_of(devices[record.device], record.lane);
    if (intervals != nullptr) intervals->push_back(interval);
  }
  computing = merged(std::move(computing));

  std::map<Device, DeviceActivity> result;
  for (auto& [device, intervals] : devices) {
    const Intervals copy = merged(std::move(intervals.copy));
    const Intervals comm = merged(std::move(intervals.comm));
    result[device] = {.compute = total_seconds(merged(std::move(intervals.compute))),
                      .copy = total_seconds(copy),
                      .copy_hidden = common_seconds(copy, computing),
                      .comm = total_seconds(comm),
                      .comm_hidden = common_seconds(comm, computing)};
  }
  return result;
}

void write_chrome_trace(std::ostream& out, std::span<const OpRecord> records) {
  const std::vector<const OpRecord*> events = drawn(records);
  std::map<Device, int> processes;
  for (const OpRecord* event : events) processes.emplace(event->device, 0);
  int process = 0;
  for (auto& [device, number] : processes) number = ++process;

  std::vector<std::size_t> rows;
  Rows layout;
  rows.reserve(events.size());
  for (const OpRecord* event : events) rows.push_back(layout.place(*event));

  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (const auto& [device, number] : processes) {
    const std::string place = process_and_thread(number, 0);
    write_metadata(out, "process_name", place, "\"name\":" + quoted(device.str()));
    write_metadata(out, "process_sort_index", place, "\"sort_index\":" + std::to_string(number));
  }
  for (const auto& [queue, used_rows] : layout.used()) {
    const auto& [device, lane] = queue;
    for (std::size_t row = 0; row < used_rows.size(); ++row) {
      const std::size_t thread = thread_number(lane, row);
      const std::string place = process_and_thread(processes[device], thread);
      write_metadata(out, "thread_name", place, "\"name\":" + quoted(lane_name(lane)));
      write_metadata(out, "thread_sort_index", place, "\"sort_index\":" + std::to_string(thread));
    }
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const OpRecord& event = *events[i];
    const std::size_t thread = thread_number(event.lane, rows[i]);
    write_event(out, event, process_and_thread(processes[event.device], thread),
                events.front()->started);
    out << (i + 1 < events.size() ? ",\n" : "\n");
  }
  out << "]}\n";
}

}  // namespace heddle
