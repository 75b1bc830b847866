#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "overlap/programs.h"
#include "overlap/script.h"

namespace bench::overlap {

inline constexpr std::int64_t kInputs = 784;
inline constexpr std::int64_t kOutputs = 10;
inline constexpr double kLearningRate = 0.01;

/// The network on each device.
struct NetworkSizes {
  NetworkSizes(const Sizes& sizes, int slice_count)
      : batch(2 * sizes.side), units(sizes.side / 2 / slice_count), slices(slice_count) {}
  std::int64_t inputs(std::size_t layer) const { return layer == 0 ? kInputs : units; }
  std::int64_t outputs(std::size_t layer) const { return layer == 0 ? units : kOutputs; }

  std::int64_t batch;  ///< images of a step
  std::int64_t units;  ///< hidden ones of a slice
  int slices;
};

// What it begins with.

std::vector<float> images_of(const NetworkSizes& sizes, int device);
std::vector<float> labels_of(const NetworkSizes& sizes);
std::vector<float> weight_of(const NetworkSizes& sizes, int slice, std::size_t layer);

/// Data-parallel training of two fully connected layers on gpu(0) and gpu(1) through a "device"
/// store, all devices in step.
///
/// With one slice its steps are a chain: a step begins with the first layer's weight, whose
/// gradient is the last thing that the step before computes, and whose way through the store
/// nothing can hide. With more slices, which divide the hidden units, the network is the same, and
/// so is its arithmetic but for the order of sums; but while the last slices are on their way the
/// first ones compute already.
std::unique_ptr<Script> make_network(const Sizes& sizes, Waits waits, int slices);

}  // namespace bench::overlap
