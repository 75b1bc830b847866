#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::base {

// How often the engine looks whether operations are small, and how many it takes to be worth it to
// treat them so. Apart, as a test of schedules has few operations.

/// Of so many operations a worker measures one, and how long it took for all of them.
constexpr std::uint32_t kMeasureEvery = 32;

/// The same where they are of several lanes in turn: so not of one lane each time.
constexpr std::uint32_t kMeasureEveryOnTour = 31;

/// Measured operations of a recording whose votes count: see Fineness.
constexpr int kMostVotes = 64;

/// Places for arrivals in chunks that are kept although nothing lies in them: some 2 MiB, and as
/// much again that a worker has given back since the pusher took some last.
constexpr std::size_t kUnusedArrivals = 16384;

/// Whether operations count as short before any is measured.
constexpr bool kShortAtFirst = false;

/// Arrivals that are run in a Stretch at least.
constexpr std::size_t kFewestInStretch = 8;

/// Operations that guests run one after the other before workers take that for a habit.
constexpr std::uint32_t kLongStreak = 16;

}  // namespace heddle::base
