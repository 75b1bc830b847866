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

/// In seconds.
double busiest_lane(std::span<const OpRecord> records) {
  std::map<std::pair<heddle::Device, heddle::Lane>, std::int64_t> busy;
  for (const OpRecord& record : records) {
    if (counts(record)) busy[{record.device, record.lane}] += record.done - record.started;
  }
  std::int64_t busiest = 0;
  for (const auto& [lane, time] : busy) busiest = std::max(busiest, time);
  return static_cast<double>(busiest) * 1e-9;
}

std::int64_t longest_chain(std::span<const OpRecord> records) {
  std::int64_t longest = 0;
  for (const OpRecord& record : records) longest = std::max(longest, record.modelled_chain);
  return longest;
}

}  // namespace

Overlap overlap_of(std::span<const OpRecord> records, double wall) {
  return {.wall = wall, .efficiency = busiest_lane(records) / wall};
}

Overlap modelled_overlap(std::span<const OpRecord> before, std::span<const OpRecord> records) {
  const std::vector<OpRecord> modelled = heddle::on_model_clock(records);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (const OpRecord& record : modelled) {
    if (!counts(record)) continue;
    first = std::min(first, record.started);
    last = std::max(last, record.done);
  }
  if (last == 0) return {};
  Overlap overlap = overlap_of(modelled, static_cast<double>(last - first) * 1e-9);
  const auto chain = static_cast<double>(longest_chain(records) - longest_chain(before)) * 1e-9;
  overlap.of_bound = std::max(overlap.efficiency, chain / overlap.wall);
  return overlap;
}

}  // namespace bench::overlap
