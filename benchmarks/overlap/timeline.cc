#include "overlap/timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace bench::overlap {

using heddle::OpRecord;

std::vector<Step> modelled_timeline(std::span<const OpRecord> records) {
  std::vector<Step> steps;
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const OpRecord& record : records) {
    if (record.modelled_start == record.modelled_end) continue;
    origin = std::min(origin, record.modelled_start);
    steps.push_back(
        {record.modelled_start, record.modelled_end,
         record.device.str() + ' ' + heddle::lane_name(record.lane) + ' ' + record.name});
  }
  for (Step& step : steps) {
    step.start -= origin;
    step.end -= origin;
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

namespace {

/// Took a GPU's time.
bool counts(const OpRecord& record) {
  return record.device.is_gpu() && record.started != record.done;
}

}  // namespace

Overlap overlap_of(std::span<const OpRecord> records, double wall) {
  std::map<std::pair<heddle::Device, heddle::Lane>, std::int64_t> busy;
  for (const OpRecord& record : records) {
    if (counts(record)) busy[{record.device, record.lane}] += record.done - record.started;
  }
  std::int64_t busiest = 0;
  for (const auto& [lane, time] : busy) busiest = std::max(busiest, time);
  return {.wall = wall, .efficiency = static_cast<double>(busiest) * 1e-9 / wall};
}

Overlap overlap_of(std::span<const OpRecord> records) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (const OpRecord& record : records) {
    if (!counts(record)) continue;
    first = std::min(first, record.started);
    last = std::max(last, record.done);
  }
  if (last == 0) return {};
  return overlap_of(records, static_cast<double>(last - first) * 1e-9);
}

}  // namespace bench::overlap
