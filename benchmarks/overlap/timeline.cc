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

Overlap overlap_of(std::span<const OpRecord> records) {
  std::map<std::pair<heddle::Device, heddle::Lane>, std::int64_t> busy;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (const OpRecord& record : records) {
    if (!record.device.is_gpu() || record.started == record.done) continue;
    busy[{record.device, record.lane}] += record.done - record.started;
    first = std::min(first, record.started);
    last = std::max(last, record.done);
  }
  std::int64_t busiest = 0;
  for (const auto& [lane, time] : busy) busiest = std::max(busiest, time);
  if (busiest == 0) return {};
  const auto wall = static_cast<double>(last - first);
  return {.wall = wall * 1e-9, .efficiency = static_cast<double>(busiest) / wall};
}

}  // namespace bench::overlap
