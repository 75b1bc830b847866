#include "questions/sheet.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace bench::engine {
namespace {

std::vector<Row> to_rows(const std::string& name, const std::string& metric, const Race& race,
                         const Sheet::Quantity& quantity) {
  std::vector<Row> rows;
  for (const Result& result : race) {
    Row& row = rows.emplace_back(Row{name, result.contender, metric, {}});
    for (const Times& times : result.runs) row.samples.push_back(quantity(times));
  }
  return rows;
}

void add_if_new(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

void Sheet::add(const std::string& name, const std::string& metric, const Race& race,
                const Quantity& quantity) {
  for (Row& row : to_rows(name, metric, race, quantity)) {
    if (!row.samples.empty()) add(std::move(row));
  }
}

void Sheet::add_with_ratios(const std::string& name, const std::string& metric, const Race& race,
                            const Quantity& quantity) {
  add_with_ratios(to_rows(name, metric, race, quantity));
}

void Sheet::add_with_ratios(std::vector<Row> rows) {
  const auto heddle = std::find_if(rows.begin(), rows.end(),
                                   [](const Row& row) { return row.contender == kHeddle; });
  std::vector<Row> ratios;
  if (heddle != rows.end()) {
    for (const Row& row : rows) {
      if (row.contender == kHeddle || row.samples.empty()) continue;
      Row& ratio = ratios.emplace_back(Row{row.name, row.contender, kRatio, {}});
      const std::size_t runs = std::min(row.samples.size(), heddle->samples.size());
      for (std::size_t i = 0; i < runs; ++i) {
        ratio.samples.push_back(heddle->samples[i] / row.samples[i]);
      }
    }
  }
  for (Row& row : rows) add(std::move(row));
  for (Row& row : ratios) add(std::move(row));
}

void Sheet::print() const {
  std::vector<Row> rest;
  for (const Row& row : rows_) {
    if (std::find(curves_.begin(), curves_.end(), row.metric) == curves_.end()) rest.push_back(row);
  }
  for (const std::string& metric : curves_) print_curve(metric);
  if (!rest.empty()) print_table(rest);
}

void Sheet::print_curve(const std::string& metric) const {
  std::vector<std::string> cases;
  std::vector<std::string> contenders;
  for (const Row& row : rows_) {
    if (row.metric != metric) continue;
    add_if_new(cases, row.name);
    add_if_new(contenders, row.contender);
  }
  if (cases.empty()) return;
  std::printf("%-22s", metric.c_str());
  for (const std::string& contender : contenders) std::printf(" %14s", contender.c_str());
  for (const std::string& name : cases) {
    std::printf("\n%-22s", name.c_str());
    for (const std::string& contender : contenders) {
      const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) {
        return r.name == name && r.contender == contender && r.metric == metric;
      });
      if (row == rows_.end() || row->samples.empty()) {
        std::printf(" %14s", "-");
      } else {
        std::printf(" %14.6g", quantile(row->samples, 0.5));
      }
    }
  }
  std::puts("");
}

}  // namespace bench::engine
