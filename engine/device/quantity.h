#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::device {

// Numbers with a unit, as people write and read them. What parses wants the whole of `text` and
// gives nothing for any other text or a value out of range.

/// B/s KB/s MB/s GB/s, in bytes per second; from 1 to 1e15.
std::optional<double> parse_speed(std::string_view text);
/// MFLOP/s GFLOP/s TFLOP/s, in operations per second; from 1 to 1e18.
std::optional<double> parse_flops(std::string_view text);
/// us ms, in nanoseconds; at most ten seconds.
std::optional<double> parse_time(std::string_view text);
/// B KiB MiB GiB, in bytes; from 1024 to 2^50.
std::optional<double> parse_size(std::string_view text);

/// "1.5 GiB", rounded to a tenth.
std::string size_text(std::size_t bytes);

}  // namespace heddle::device
