#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::base {

// As in the engine, for programs of a few operations.

constexpr std::uint32_t kMeasureEvery = 2;
constexpr std::uint32_t kMeasureEveryOnTour = 3;
constexpr int kMostVotes = 8;
constexpr std::size_t kUnusedArrivals = 0;
constexpr bool kShortAtFirst = true;
constexpr std::size_t kFewestInStretch = 2;
constexpr std::uint32_t kLongStreak = 2;

}  // namespace heddle::base
