#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "contenders/contender.h"

/// How every contender is timed.
namespace bench::engine {

using Clock = std::chrono::steady_clock;

/// Calls push(i) for every operation i of `program`, in order, from as many threads as it wants;
/// the caller's is one. Each does so within one call of enter(function), once all are ready.
/// Returns when they began.
template <class Push, class Enter>
Clock::time_point push_all(const Program& program, const Push& push, const Enter& enter) {
  const auto pushers = static_cast<std::size_t>(program.pushers);
  std::atomic<std::size_t> missing{pushers};
  const auto push_share = [&](std::size_t first, Clock::time_point& begin) {
    --missing;
    while (missing != 0) std::this_thread::yield();
    begin = Clock::now();
    for (std::size_t i = first; i < program.operations.size(); i += pushers) push(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t first = 1; first < pushers; ++first) {
    others.emplace_back([&, first] {
      Clock::time_point unused;
      enter([&] { push_share(first, unused); });
    });
  }
  Clock::time_point begin;
  enter([&] { push_share(0, begin); });
  return begin;
}

/// Pushes all of `program` as push_all() does, then calls wait(), which returns when the last
/// operation has ended.
template <class Push, class Wait, class Enter>
Times time_run(const Program& program, const Moments& moments, const Push& push, const Wait& wait,
               const Enter& enter) {
  if (moments.before_pushes) moments.before_pushes();
  const Clock::time_point begin = push_all(program, push, enter);
  const std::chrono::nanoseconds submit = Clock::now() - begin;
  if (moments.after_pushes) moments.after_pushes();
  const Clock::time_point begin_wait = Clock::now();
  wait();
  return {submit, submit + (Clock::now() - begin_wait)};
}

template <class Push, class Wait>
Times time_run(const Program& program, const Moments& moments, const Push& push, const Wait& wait) {
  return time_run(program, moments, push, wait, [](const auto& function) { function(); });
}

/// Times each call of push_and_wait().
template <class PushAndWait>
std::vector<std::chrono::nanoseconds> time_round_trips(const RoundTrips& trips,
                                                       const PushAndWait& push_and_wait) {
  std::vector<std::chrono::nanoseconds> times(trips.count);
  for (std::chrono::nanoseconds& time : times) {
    if (trips.pause.count() > 0) std::this_thread::sleep_for(trips.pause);
    const Clock::time_point begin = Clock::now();
    push_and_wait();
    time = Clock::now() - begin;
    if (trips.after_each) trips.after_each();
  }
  return times;
}

}  // namespace bench::engine
