#pragma once

#include <cstdint>
#include <vector>

#include "heddle/io.h"

namespace heddle::io {

/// A batch's place in the stream of all batches.
struct Cursor {
  std::int64_t epoch = 0;
  std::int64_t index = 0;    ///< in the epoch
  std::int64_t carried = 0;  ///< records rolled over from before the epoch

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// `count` records: positions first, first + stride, … of an epoch's order.
struct Piece {
  std::int64_t epoch = 0;
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// What a batch is made of: rows = sum of the counts, of which the last `pad` repeat others.
struct Plan {
  std::vector<Piece> pieces;
  std::int64_t rows = 0;
  int pad = 0;
};

/// Which records the batches of one shard hold. Knows positions in an epoch's order only.
/// Immutable.
class Schedule {
 public:
  Schedule(std::int64_t records, int batch_size, Shard shard, LastBatch last_batch);

  /// Of the epoch that `cursor` is in.
  std::int64_t batches(const Cursor& cursor) const;
  /// Some run gets to `cursor`: it stands at a batch, or at the end of an epoch.
  bool reaches(const Cursor& cursor) const;
  /// No epoch ever has a batch.
  bool empty() const;
  /// The start of the epoch after the one that `cursor` is in, with what rolls over.
  Cursor next_epoch(const Cursor& cursor) const;
  /// Of an existing batch: cursor.index < batches(cursor).
  Plan plan(const Cursor& cursor) const;

 private:
  Piece piece(const Cursor& cursor, std::int64_t begin, std::int64_t end) const;

  std::int64_t records_;
  std::int64_t batch_size_;
  Shard shard_;
  LastBatch last_batch_;
  std::int64_t own_;  // records of the shard in each epoch
};

}  // namespace heddle::io
