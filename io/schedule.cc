#include "io/schedule.h"

#include <algorithm>

namespace heddle::io {
namespace {

constexpr std::int64_t kEpochLimit = std::int64_t{1} << 62;  // far from where numbers overflow

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Schedule::Schedule(std::int64_t records, int batch_size, Shard shard, LastBatch last_batch)
    : records_(records),
      batch_size_(batch_size),
      shard_(shard),
      last_batch_(last_batch),
      own_(ceil_div(std::max<std::int64_t>(records - shard.index, 0), shard.count)) {}

std::int64_t Schedule::batches(const Cursor& cursor) const {
  switch (last_batch_) {
    case LastBatch::kKeep:
      return ceil_div(own_, batch_size_);
    case LastBatch::kPad:
      return ceil_div(ceil_div(records_, shard_.count), batch_size_);
    case LastBatch::kDiscard:
      return records_ / shard_.count / batch_size_;
    case LastBatch::kRollOver:
      return (cursor.carried + own_) / batch_size_;
  }
  return 0;
}

bool Schedule::reaches(const Cursor& cursor) const {
  const std::int64_t most_carried = last_batch_ == LastBatch::kRollOver ? batch_size_ - 1 : 0;
  return cursor.epoch >= 0 && cursor.epoch < kEpochLimit && cursor.carried >= 0 &&
         cursor.carried <= std::min(most_carried, std::min(cursor.epoch, batch_size_) * own_) &&
         cursor.index >= 0 && cursor.index <= batches(cursor);
}

bool Schedule::empty() const {
  return last_batch_ == LastBatch::kRollOver ? own_ == 0 : batches({}) == 0;
}

Cursor Schedule::next_epoch(const Cursor& cursor) const {
  Cursor next{cursor.epoch + 1, 0, 0};
  if (last_batch_ == LastBatch::kRollOver) {
    next.carried = cursor.carried + own_ - batches(cursor) * batch_size_;
  }
  return next;
}

Plan Schedule::plan(const Cursor& cursor) const {
  const std::int64_t begin = cursor.index * batch_size_ - cursor.carried;
  std::int64_t end = begin + batch_size_;
  if (last_batch_ == LastBatch::kKeep) end = std::min(end, own_);
  Plan plan;
  plan.rows = end - begin;
  plan.pad = static_cast<int>(end - std::clamp(own_, begin, end));
  for (std::int64_t at = begin; at < end; at += plan.pieces.back().count) {
    plan.pieces.push_back(piece(cursor, at, end));
  }
  return plan;
}

// Numbers count the shard's records from the start of the cursor's epoch. Those below 0 are of
// earlier epochs, which all held `own_`; those from `own_` on are padding and start over.
Piece Schedule::piece(const Cursor& cursor, std::int64_t begin, std::int64_t end) const {
  if (own_ == 0) {  // padding for a shard without records: from the start of the whole epoch
    const std::int64_t first = begin % records_;
    return {cursor.epoch, first, 1, std::min(records_ - first, end - begin)};
  }
  const std::int64_t epochs_back = begin < 0 ? ceil_div(-begin, own_) : 0;
  const std::int64_t position = (begin + epochs_back * own_) % own_;
  return {cursor.epoch - epochs_back, shard_.index + position * shard_.count, shard_.count,
          std::min(own_ - position, end - begin)};
}

}  // namespace heddle::io
