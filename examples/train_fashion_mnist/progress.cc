#include "progress.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <unistd.h>

namespace {

constexpr const char* kClearLine = "\r\x1b[2K";

/// The variable's value; "" if it is not set.
std::string_view variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Progress::Progress(int epochs, int images_per_step)
    : terminal_(isatty(STDOUT_FILENO) != 0 && variable("TERM") != "dumb"),
      colored_(terminal_ && variable("NO_COLOR").empty()),
      epochs_(epochs),
      images_per_step_(images_per_step) {}

void Progress::begin_epoch(std::int64_t steps) {
  ++epoch_;
  steps_in_epoch_ = steps;
  steps_ = 0;
  start_ = Clock::now();
}

bool Progress::step() {
  const std::int64_t parts = terminal_ ? 20 : 4;
  const auto part = [&](std::int64_t steps) { return steps * parts / steps_in_epoch_; };
  ++steps_;
  ++all_steps_;
  return steps_ < steps_in_epoch_ && part(steps_) > part(steps_ - 1);
}

void Progress::show(std::int64_t steps, double loss) {
  const double images_per_second = rate(steps, Clock::now() - start_);
  if (terminal_) {
    draw_bar(steps, loss, images_per_second);
  } else {
    std::printf("epoch %2d/%d  step %4lld/%lld  %7.0f images/s  loss %.4f\n", epoch_, epochs_,
                static_cast<long long>(steps), static_cast<long long>(steps_in_epoch_),
                images_per_second, loss);
  }
  std::fflush(stdout);
}

void Progress::draw_bar(std::int64_t steps, double loss, double images_per_second) const {
  constexpr std::size_t kWidth = 30;
  const auto done =
      static_cast<std::size_t>(steps) * kWidth / static_cast<std::size_t>(steps_in_epoch_);
  std::printf("%sepoch %2d/%d  %s%s%s%s  %7.0f images/s  loss %.4f", kClearLine, epoch_, epochs_,
              colored_ ? "\x1b[32m" : "", std::string(done, '#').c_str(),
              std::string(kWidth - done, '.').c_str(), colored_ ? "\x1b[0m" : "", images_per_second,
              loss);
}

void Progress::stop_clock() {
  epoch_time_ = Clock::now() - start_;
  all_time_ += epoch_time_;
}

void Progress::end_epoch(double loss, double accuracy) {
  std::printf("%sepoch %2d/%d  %7.0f images/s  loss %.4f  test accuracy %.4f\n",
              terminal_ ? kClearLine : "", epoch_, epochs_, rate(steps_, epoch_time_), loss,
              accuracy);
  std::fflush(stdout);
}

double Progress::images_per_second() const { return rate(all_steps_, all_time_); }

double Progress::rate(std::int64_t steps, Clock::duration elapsed) const {
  const double images = static_cast<double>(steps) * images_per_step_;
  return images / std::chrono::duration<double>(elapsed).count();
}
