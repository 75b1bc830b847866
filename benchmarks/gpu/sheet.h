#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results.h"

namespace bench::gpu {

inline constexpr const char* kHeddle = "heddle";
inline constexpr const char* kByHand = "by hand";

/// What a median is meant to come to.
struct Target {
  enum class Bound : std::uint8_t { kAtMost, kAtLeast };
  Bound bound;
  double value;
};
inline Target at_most(double value) { return {Target::Bound::kAtMost, value}; }
inline Target at_least(double value) { return {Target::Bound::kAtLeast, value}; }

/// What has been measured, and what was aimed at.
class Sheet {
 public:
  void add(Row row, std::optional<Target> target = std::nullopt);

  const std::vector<Row>& rows() const { return rows_; }
  /// As print_table(), with the targets and whether the medians meet them.
  void print() const;

 private:
  std::vector<Row> rows_;
  std::vector<std::optional<Target>> targets_;  // of the rows
};

/// One way to do what a case is about.
struct Contender {
  std::string name;
  /// Does it once and returns a sample. Throws if what came out is wrong.
  std::function<double()> measure;
};

/// The samples of each contender: all of them are measured in turn, once for nothing, so that what
/// they need is there, and then `runs` times. A row for each.
std::vector<Row> race(const std::string& name, const std::string& metric,
                      const std::vector<Contender>& contenders, int runs);

/// `of` over `to`, run by run; of the same race.
Row ratio(const Row& of, const Row& to, const std::string& metric);

/// Throws std::runtime_error, which names the contender, unless `is_right`.
void expect(bool is_right, const std::string& contender, const std::string& what);

/// How long that took.
template <class Work>
double microseconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count();
}

}  // namespace bench::gpu
