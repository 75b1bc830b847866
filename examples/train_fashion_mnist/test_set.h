#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <heddle/heddle.h>

#include "mlp.h"

/// The test images and labels, which are sent to the devices once and stay there: batch i lies on
/// device i, modulo their number.
class TestSet {
 public:
  TestSet(heddle::io::Source source, std::vector<heddle::Device> devices);

  /// Sends what is left of the first `part` in `whole` parts of the set. Called between the steps
  /// of an epoch it hides the sending behind them.
  void send(std::int64_t part, std::int64_t whole);

  /// The share of images that are classified as labelled. Sends what is left, and blocks.
  double accuracy(std::vector<Mlp>& nets);

 private:
  struct Batch {
    heddle::NDArray images, labels;
  };

  std::vector<heddle::Device> devices_;
  std::optional<heddle::io::Pipeline> unsent_;  // until all is sent
  std::int64_t count_;                          // of batches
  std::vector<Batch> batches_;
};
