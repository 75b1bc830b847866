#include "engine/trace_log.h"

#include <algorithm>
#include <chrono>

#include "engine/device/registry.h"
#include "engine/model_clock.h"

namespace heddle::detail {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(base::Clock::now().time_since_epoch())
      .count();
}

std::vector<OpRecord> TraceLog::records() const {
  std::vector<OpRecord> records;
  std::vector<ModelOp> operations;
  std::vector<ModelWait> waits;
  {
    const std::lock_guard lock(mutex_);
    for (const std::vector<Entry>& block : blocks_) {
      for (const Entry& entry : block) {
        records.push_back(entry.record);
        operations.push_back(entry.modelled);
      }
    }
    waits = waits_;
  }
  const auto by_sequence = [](const auto& a, const auto& b) { return a.sequence < b.sequence; };
  std::sort(operations.begin(), operations.end(), by_sequence);
  // A program that uses no GPU does not settle which there are.
  const auto is_of_gpu = [](const CopyCost& copy) {
    return copy.from.is_gpu() || copy.to.is_gpu();
  };
  const bool has_gpu = std::any_of(operations.begin(), operations.end(), [&](const ModelOp& op) {
    const std::vector<CopyCost>& copies = op.cost.copies;
    return op.device.is_gpu() || std::any_of(copies.begin(), copies.end(), is_of_gpu);
  });
  const std::vector<ModelTime> times =
      model_times(operations, std::move(waits),
                  has_gpu ? device::logical_gpu_table() : std::span<const device::LogicalGpu>());
  for (OpRecord& record : records) {
    const auto found = std::lower_bound(operations.begin(), operations.end(), record, by_sequence);
    const ModelTime& time = times[static_cast<std::size_t>(found - operations.begin())];
    record.modelled_start = time.start;
    record.modelled_end = time.end;
    record.modelled_chain = time.chain;
  }
  return records;
}

}  // namespace heddle::detail
