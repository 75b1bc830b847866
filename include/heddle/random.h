#pragma once

#include <cstdint>

#include "heddle/device.h"
#include "heddle/ndarray.h"

/// Random arrays from Philox4x32-10, one generator per device.
///
/// The values of a draw depend on the generator's seed, on its position when the draw was called
/// and on the number of elements: not on the kind of device, the number of threads or the order in
/// which draws run. Draws of several threads from one device take their places in the order of the
/// calls. Until a seed is set, a generator starts from the system's entropy.
///
/// All functions return at once and may be called from any thread. An argument out of its range is
/// std::invalid_argument. On a CUDA device permutation() and shuffle() throw Error.
namespace heddle::random {

/// Every device's generator starts over from `seed`: equal draws on different devices are equal.
void seed(std::uint64_t seed);
void seed(std::uint64_t seed, Device device);

/// float32 in [low, high], equidistant: low + (high - low) * u with u in (0, 1].
NDArray uniform(double low, double high, Shape shape, Device device = current_device());
/// float32; stddev >= 0.
NDArray normal(double mean, double stddev, Shape shape, Device device = current_device());
/// float32: 1 with probability p, else 0.
NDArray bernoulli(double p, Shape shape, Device device = current_device());
/// int64 in [low, high), all equally likely.
NDArray randint(std::int64_t low, std::int64_t high, Shape shape, Device device = current_device());
/// The int64 numbers 0 … n - 1 in random order.
NDArray permutation(std::int64_t n, Device device = current_device());
/// Puts the rows of the first axis into random order, in place; from the array's own device. The
/// order is that of permutation(number of rows) at the same position.
void shuffle(const NDArray& x);

}  // namespace heddle::random
