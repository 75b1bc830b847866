#include "engine/device/quantity.h"

#include <array>
#include <cstdio>
#include <span>

#include "engine/base/parse.h"

namespace heddle::device {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 4> kSpeedUnits = {
    {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}}};
constexpr std::array<Unit, 3> kFlopsUnits = {
    {{"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}}};
constexpr std::array<Unit, 2> kTimeUnits = {{{"us", 1e3}, {"ms", 1e6}}};
constexpr std::array<Unit, 4> kSizeUnits = {
    {{"B", 1}, {"KiB", 1024}, {"MiB", 1024.0 * 1024}, {"GiB", 1024.0 * 1024 * 1024}}};

/// Number and unit, in the base unit, if that lies in lowest..highest.
std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units,
                                     double lowest, double highest) {
  const std::optional<double> number = base::take_number(text);
  if (!number) return std::nullopt;
  for (const Unit& unit : units) {
    const double value = *number * unit.factor;
    if (text == unit.name && value >= lowest && value <= highest) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_speed(std::string_view text) {
  return parse_quantity(text, kSpeedUnits, 1, 1e15);
}

std::optional<double> parse_flops(std::string_view text) {
  return parse_quantity(text, kFlopsUnits, 1, 1e18);
}

std::optional<double> parse_time(std::string_view text) {
  return parse_quantity(text, kTimeUnits, 0, 1e10);
}

std::optional<double> parse_size(std::string_view text) {
  return parse_quantity(text, kSizeUnits, 1024, 0x1p50);
}

std::string size_text(std::size_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace heddle::device
