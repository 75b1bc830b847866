#pragma once

#include <chrono>
#include <cstdint>

/// Says on standard output how training gets on: a bar if that is a terminal, else some lines per
/// epoch. Measures the time that training takes, without the time between epochs.
class Progress {
 public:
  Progress(int epochs, int images_per_step);

  void begin_epoch(std::int64_t steps);
  /// Counts a step; true if show() is due.
  bool step();
  /// `loss`: the mean over the first `steps` steps of the epoch, which have ended.
  void show(std::int64_t steps, double loss);
  /// Stops the clock: all steps of the epoch have ended.
  void stop_clock();
  void end_epoch(double loss, double accuracy);

  std::int64_t steps() const { return steps_; }  ///< of this epoch
  double images_per_second() const;              ///< over all epochs

 private:
  using Clock = std::chrono::steady_clock;

  double rate(std::int64_t steps, Clock::duration elapsed) const;
  void draw_bar(std::int64_t steps, double loss, double images_per_second) const;

  const bool terminal_;
  const bool colored_;
  const int epochs_;
  const int images_per_step_;
  int epoch_ = 0;
  std::int64_t steps_in_epoch_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t all_steps_ = 0;
  Clock::time_point start_;
  Clock::duration epoch_time_{};
  Clock::duration all_time_{};
};
