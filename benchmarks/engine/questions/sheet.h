#pragma once

#include <functional>
#include <string>
#include <vector>

#include "questions/lineup.h"
#include "results.h"

namespace bench::engine {

/// What has been measured: the rows of the result file, and how they are shown.
class Sheet {
 public:
  using Quantity = std::function<double(const Times&)>;

  /// Adds a row for each contender that could run.
  void add(const std::string& name, const std::string& metric, const Race& race,
           const Quantity& quantity);
  /// Adds a row for each contender, without samples if it could not run, and rows with heddle's
  /// samples over those of each other one, run by run.
  void add_with_ratios(const std::string& name, const std::string& metric, const Race& race,
                       const Quantity& quantity);
  void add(Row row) { rows_.push_back(std::move(row)); }
  /// The rows are of one case and one metric.
  void add_with_ratios(std::vector<Row> rows);

  /// The rows of `metric` are shown as one small table: a line for each case, a column for each
  /// contender, medians only.
  void show_as_curve(const std::string& metric) { curves_.push_back(metric); }

  const std::vector<Row>& rows() const { return rows_; }
  void print() const;

 private:
  void print_curve(const std::string& metric) const;

  std::vector<Row> rows_;
  std::vector<std::string> curves_;
};

inline constexpr const char* kRatio = "heddle to it";

}  // namespace bench::engine
