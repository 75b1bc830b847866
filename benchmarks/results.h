#pragma once

#include <string>
#include <vector>

/// What the benchmarks share: the numbers that they measure, as a table and as JSON.
namespace bench {

/// One measured quantity of one contender: one line of the table.
struct Row {
  std::string name;  ///< of the case
  std::string contender;
  std::string metric;
  std::vector<double> samples;  ///< none if the contender cannot do it: a dash in tables
};

/// The p-quantile of `samples`, interpolated; 0 <= p <= 1. There is at least one sample.
double quantile(std::vector<double> samples, double p);

/// Prints median, p10 and p90 of each row on standard output.
void print_table(const std::vector<Row>& rows);

/// Writes {"bench", "commit", "machine", "rows": [{"case", "contender", "metric", "median", "p10",
/// "p25", "p90", "samples"}]}, without the rows that have no sample. Throws std::runtime_error,
/// naming the path, if the file cannot be written.
void write_json(const std::string& path, const std::string& bench, const std::vector<Row>& rows);

}  // namespace bench
