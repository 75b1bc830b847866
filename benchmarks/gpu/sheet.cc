#include "gpu/sheet.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace bench::gpu {
namespace {

std::string describe(const Target& target, double median) {
  const bool at_most = target.bound == Target::Bound::kAtMost;
  const bool is_met = at_most ? median <= target.value : median >= target.value;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s %-6g %s", at_most ? "<=" : ">=", target.value,
                is_met ? "met" : "MISSED");
  return text.data();
}

}  // namespace

void Sheet::add(Row row, std::optional<Target> target) {
  rows_.push_back(std::move(row));
  targets_.push_back(target);
}

void Sheet::print() const {
  constexpr const char* kLine = "%-36s %-26s %-28s %10s %10s %10s  %s\n";
  std::printf(kLine, "case", "contender", "metric", "median", "p10", "p90", "target");
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    std::printf("%-36s %-26s %-28s", row.name.c_str(), row.contender.c_str(), row.metric.c_str());
    for (const double p : {0.5, 0.1, 0.9}) std::printf(" %10.5g", quantile(row.samples, p));
    const std::optional<Target>& target = targets_[i];
    std::printf("  %s\n", target ? describe(*target, quantile(row.samples, 0.5)).c_str() : "");
  }
}

std::vector<Row> race(const std::string& name, const std::string& metric,
                      const std::vector<Contender>& contenders, int runs) {
  std::vector<Row> rows;
  for (const Contender& contender : contenders) {
    rows.push_back({name, contender.name, metric, {}});
    contender.measure();
  }
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      rows[i].samples.push_back(contenders[i].measure());
    }
  }
  return rows;
}

Row ratio(const Row& of, const Row& to, const std::string& metric) {
  Row row{of.name, of.contender, metric, {}};
  for (std::size_t i = 0; i < of.samples.size(); ++i) {
    row.samples.push_back(of.samples[i] / to.samples[i]);
  }
  return row;
}

void expect(bool is_right, const std::string& contender, const std::string& what) {
  if (!is_right) throw std::runtime_error(contender + ": wrong: " + what);
}

}  // namespace bench::gpu
