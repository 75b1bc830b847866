#include "io/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::io {
namespace {

/// (epoch, position) of every row of a batch.
std::vector<std::pair<std::int64_t, std::int64_t>> rows(const Plan& plan) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const Piece& piece : plan.pieces) {
    for (std::int64_t i = 0; i < piece.count; ++i) {
      all.emplace_back(piece.epoch, piece.first + i * piece.stride);
    }
  }
  return all;
}

TEST_CASE("the shards of an epoch are disjoint, make up the set and differ by one at most") {
  for (const std::int64_t records : {1, 2, 7, 10, 64}) {
    for (const int count : {1, 2, 3, 7, 9}) {
      CAPTURE(records, count);
      std::set<std::int64_t> met;
      std::vector<std::int64_t> sizes;
      for (int index = 0; index < count; ++index) {
        const Schedule schedule(records, 3, {index, count}, LastBatch::kKeep);
        std::int64_t size = 0;
        for (Cursor cursor; cursor.index < schedule.batches(cursor); ++cursor.index) {
          for (const auto& [epoch, position] : rows(schedule.plan(cursor))) {
            met.insert(position);
            ++size;
          }
        }
        sizes.push_back(size);
      }
      CHECK(met.size() == static_cast<std::size_t>(records));
      CHECK(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == records);
      CHECK(*met.begin() == 0);
      CHECK(*met.rbegin() == records - 1);
      CHECK(*std::max_element(sizes.begin(), sizes.end()) -
                *std::min_element(sizes.begin(), sizes.end()) <=
            1);
    }
  }
}

TEST_CASE("kPad and kDiscard give every shard the same number of batches") {
  for (const LastBatch last_batch : {LastBatch::kPad, LastBatch::kDiscard}) {
    for (std::int64_t records = 1; records < 30; ++records) {
      const auto batches = [&](int index) {
        return Schedule(records, 3, {index, 4}, last_batch).batches({});
      };
      CAPTURE(records);
      CHECK(std::vector{batches(1), batches(2), batches(3)} == std::vector(3, batches(0)));
    }
  }
}

TEST_CASE("padding starts over with the shard's first records") {
  const Schedule schedule(5, 4, {1, 2}, LastBatch::kPad);  // its own: 1 and 3
  const Plan plan = schedule.plan({});
  CHECK(plan.pad == 2);
  CHECK(rows(plan) ==
        std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1}, {0, 3}, {0, 1}, {0, 3}});
}

TEST_CASE("a shard that lacks a whole batch pads all of it") {
  const Schedule schedule(9, 4, {1, 2}, LastBatch::kPad);  // 4 of 9; the other has 5
  REQUIRE(schedule.batches({}) == 2);
  CHECK(schedule.plan({0, 1, 0}).pad == 4);
}

TEST_CASE("a shard without records pads with the start of the whole epoch") {
  const Schedule schedule(2, 3, {2, 3}, LastBatch::kPad);
  const Plan plan = schedule.plan({});
  CHECK(plan.pad == 3);
  CHECK(rows(plan) == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {0, 1}, {0, 0}});
}

TEST_CASE("rolled-over batches run through the epochs without a gap") {
  for (const std::int64_t records : {1, 2, 3, 5, 8}) {
    for (const int batch_size : {1, 2, 3, 7}) {
      const Schedule schedule(records, batch_size, {}, LastBatch::kRollOver);
      std::vector<std::pair<std::int64_t, std::int64_t>> met;
      Cursor cursor;
      while (cursor.epoch < 10) {
        for (; cursor.index < schedule.batches(cursor); ++cursor.index) {
          const Plan plan = schedule.plan(cursor);
          CHECK(plan.rows == batch_size);
          for (const auto& row : rows(plan)) met.push_back(row);
        }
        CHECK(schedule.reaches(cursor));
        cursor = schedule.next_epoch(cursor);
      }
      std::vector<std::pair<std::int64_t, std::int64_t>> expected;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(met.size()); ++i) {
        expected.emplace_back(i / records, i % records);
      }
      CAPTURE(records, batch_size);
      CHECK(met == expected);
      CHECK(static_cast<std::int64_t>(met.size()) + cursor.carried == 10 * records);
    }
  }
}

TEST_CASE("positions that no run gets to are told from those that one does") {
  const Schedule keep(10, 4, {}, LastBatch::kKeep);
  CHECK(keep.reaches({7, 3, 0}));
  CHECK_FALSE(keep.reaches({7, 4, 0}));
  CHECK_FALSE(keep.reaches({-1, 0, 0}));
  CHECK_FALSE(keep.reaches({0, -1, 0}));
  CHECK_FALSE(keep.reaches({1, 0, 2}));
  const Schedule roll_over(10, 4, {}, LastBatch::kRollOver);
  CHECK(roll_over.reaches({1, 3, 2}));
  CHECK_FALSE(roll_over.reaches({1, 4, 2}));
  CHECK_FALSE(roll_over.reaches({0, 0, 2}));
  CHECK_FALSE(roll_over.reaches({1, 0, 4}));
}

}  // namespace
}  // namespace heddle::io
