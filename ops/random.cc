#include "heddle/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/recorder.h"
#include "ops/invoke.h"
#include "ops/kernels.h"
#include "ops/random_kernels.h"

namespace heddle {

namespace ops {

namespace {

/// The positions of all generators.
///
/// Thread safety: every member may be called from any thread.
/// Invariants: a device without an entry stands at block 0 of the common seed.
///
/// A draw takes its range of blocks here, when it is pushed, and a recorded one in each run;
/// nothing it computes depends on another draw, so draws share no variable and may overlap.
class Generators {
 public:
  void seed(std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    common_seed_ = seed;
    positions_.clear();
  }

  void seed(std::uint64_t seed, Device device) {
    const std::lock_guard lock(mutex_);
    positions_[generator_of(device)] = {.seed = seed};
  }

  /// Takes the blocks for n elements.
  PhiloxPosition reserve(Device device, std::int64_t n) {
    const std::lock_guard lock(mutex_);
    if (!common_seed_) common_seed_ = entropy();
    PhiloxPosition& position =
        positions_.try_emplace(generator_of(device), PhiloxPosition{.seed = *common_seed_})
            .first->second;
    const PhiloxPosition start = position;
    position.block += (static_cast<std::uint64_t>(n) + 3) / 4;
    return start;
  }

 private:
  /// Pinned memory belongs to the CPU.
  static Device generator_of(Device device) {
    return device.is_gpu() ? device : Device::cpu(device.id());
  }

  static std::uint64_t entropy() {
    std::random_device source;
    return static_cast<std::uint64_t>(source()) << 32U | source();
  }

  std::mutex mutex_;
  std::optional<std::uint64_t> common_seed_;
  std::map<Device, PhiloxPosition> positions_;
};

/// Never destroyed: threads may draw until the process ends.
Generators& generators() {
  static auto* const instance = new Generators;
  return *instance;
}

/// Operations for a random number: a quarter of a block of Philox, ten rounds of about ten, and
/// what makes a sample of a word.
constexpr double kOpsPerDraw = 30;

/// What it costs to write a sample to each element.
Work drawing(const NDArray& out) {
  return work_on({&out}, kOpsPerDraw * static_cast<double>(out.size()));
}

/// What it costs to draw n keys of two words, and to sort them.
Work permuting(std::int64_t n) {
  const auto count = static_cast<double>(n);
  const double comparisons = count * std::log2(std::max(count, 1.0));
  return {.flops = 2 * kOpsPerDraw * count + comparisons,
          .bytes = 2 * sizeof(std::uint64_t) * 2 * static_cast<std::uint64_t>(n)};
}

/// Pushes kernel(start) with the start of the blocks for n elements.
template <class Kernel>
void launch_draw(std::string_view op, Device device, std::int64_t n, const NDArray& out,
                 bool overwrites, const Work& work, Kernel kernel) {
  detail::push_reserving(
      Engine::get(),
      [device, n] { return std::bit_cast<detail::Reserved>(generators().reserve(device, n)); },
      [kernel = std::move(kernel)](const detail::Reserved& reserved) {
        kernel(std::bit_cast<PhiloxPosition>(reserved));
      },
      {}, {out.var()},
      {.device = device,
       .name = op,
       .overwrites = overwrites,
       .flops = work.flops,
       .bytes = work.bytes,
       .capturable = true});
}

/// A new array, and kernel(start, pointer to its elements, their number) pushed to fill it.
template <class T, class Kernel>
NDArray draw(std::string_view op, Shape shape, Device device, Kernel kernel,
             const Work& besides = {}) {
  NDArray out = make_output(std::move(shape), device, dtype_of<T>);
  Work work = drawing(out);
  work.flops += besides.flops;
  work.bytes += besides.bytes;
  launch_draw(
      op, device, out.size(), out, /*overwrites=*/true, work,
      [kernel, out](const PhiloxPosition& start) { kernel(start, out.data<T>(), out.size()); });
  return out;
}

/// Sorting is not there for other devices yet.
void expect_cpu_kernels(std::string_view op, Device device) {
  if (!device::backend_of(device).runs_cpu_kernels()) detail::refuse_device(op, device);
}

void expect_finite(std::string_view op, std::string_view argument, double value) {
  if (std::isfinite(static_cast<float>(value))) return;
  refuse(op, std::string(argument) + " " + std::to_string(value) + ": expected a finite float");
}

}  // namespace

}  // namespace ops

namespace random {

void seed(std::uint64_t seed) {
  detail::do_or_record([seed] { ops::generators().seed(seed); });
}

void seed(std::uint64_t seed, Device device) {
  detail::do_or_record([seed, device] { ops::generators().seed(seed, device); });
}

NDArray uniform(double low, double high, Shape shape, Device device) {
  ops::expect_finite("uniform", "low", low);
  ops::expect_finite("uniform", "high", high);
  const auto kernel = ops::kernel_for_device(
      "uniform", device, []() -> ops::DrawKernel { return &ops::draw_uniform; },
      ops::cuda::uniform_kernel);
  return ops::draw<float>("uniform", std::move(shape), device,
                          [kernel, from = static_cast<float>(low), to = static_cast<float>(high)](
                              const ops::PhiloxPosition& start, float* out, std::int64_t n) {
                            kernel(start, from, to, out, n);
                          });
}

NDArray normal(double mean, double stddev, Shape shape, Device device) {
  ops::expect_finite("normal", "mean", mean);
  ops::expect_finite("normal", "stddev", stddev);
  if (stddev < 0) {
    ops::refuse("normal", "stddev " + std::to_string(stddev) + ": expected 0 or more");
  }
  const auto kernel = ops::kernel_for_device(
      "normal", device, []() -> ops::DrawKernel { return &ops::draw_normal; },
      ops::cuda::normal_kernel);
  return ops::draw<float>(
      "normal", std::move(shape), device,
      [kernel, centre = static_cast<float>(mean), scale = static_cast<float>(stddev)](
          const ops::PhiloxPosition& start, float* out, std::int64_t n) {
        kernel(start, centre, scale, out, n);
      });
}

NDArray bernoulli(double p, Shape shape, Device device) {
  if (!(p >= 0 && p <= 1)) {
    ops::refuse("bernoulli", "p " + std::to_string(p) + ": expected 0 <= p <= 1");
  }
  const auto kernel = ops::kernel_for_device(
      "bernoulli", device, []() -> ops::BernoulliKernel { return &ops::draw_bernoulli; },
      ops::cuda::bernoulli_kernel);
  return ops::draw<float>("bernoulli", std::move(shape), device,
                          [kernel, p](const ops::PhiloxPosition& start, float* out,
                                      std::int64_t n) { kernel(start, p, out, n); });
}

NDArray randint(std::int64_t low, std::int64_t high, Shape shape, Device device) {
  if (low >= high) {
    ops::refuse("randint", "low " + std::to_string(low) + " and high " + std::to_string(high) +
                               ": expected low < high");
  }
  const auto kernel = ops::kernel_for_device(
      "randint", device, []() -> ops::IntegersKernel { return &ops::draw_integers; },
      ops::cuda::integers_kernel);
  return ops::draw<std::int64_t>(
      "randint", std::move(shape), device,
      [kernel, low, high](const ops::PhiloxPosition& start, std::int64_t* out, std::int64_t n) {
        kernel(start, low, high, out, n);
      });
}

NDArray permutation(std::int64_t n, Device device) {
  if (n < 0) ops::refuse("permutation", "n " + std::to_string(n) + ": expected 0 or more");
  ops::expect_cpu_kernels("permutation", device);
  return ops::draw<std::int64_t>("permutation", Shape{n}, device, ops::draw_permutation,
                                 ops::permuting(n));
}

void shuffle(const NDArray& x) {
  if (x.ndim() == 0) ops::refuse("shuffle", "shape (): expected at least 1 dimension");
  ops::expect_cpu_kernels("shuffle", x.device());
  const std::int64_t rows = x.shape()[0];
  const auto permute = [x, rows](const ops::PhiloxPosition& start) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    ops::draw_permutation(start, order.data(), rows);
    const std::size_t bytes = static_cast<std::size_t>(x.size()) * dtype_size(x.dtype());
    ops::permute_rows(static_cast<std::byte*>(ops::address(x)),
                      rows == 0 ? 0 : bytes / static_cast<std::size_t>(rows), order.data(), rows);
  };
  ops::Work work = ops::permuting(rows);
  work.bytes += ops::work_on({&x, &x}, 0).bytes;
  ops::launch_draw("shuffle", x.device(), rows, x, /*overwrites=*/false, work, permute);
}

}  // namespace random

}  // namespace heddle
