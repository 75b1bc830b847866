// Pipeline: batches that are shuffled, transformed and copied to the devices ahead of use.

#include <cstdio>
#include <vector>

#include <heddle/heddle.h>

using heddle::Device;
using heddle::NDArray;
namespace io = heddle::io;

int main() {
  heddle::configure({.gpus = "sim:2"});

  // Ten records of two numbers, labelled 0 to 9. io::idx() reads such a set from files.
  const io::Source source =
      io::in_memory(NDArray::arange(0, 20).reshape({10, 2}), NDArray::arange(0, 10));

  const auto halve = [](io::Sample& sample) {
    for (float& value : sample.data) value /= 2;
  };
  io::Pipeline batches(source, {.batch_size = 4,
                                .shuffle = true,
                                .seed = 1,
                                .transforms = {halve},
                                .devices = {Device::gpu(0), Device::gpu(1)}});

  bool right = true;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<bool> seen(10, false);
    while (const auto batch = batches.next()) {  // nullopt at the end of each epoch
      right = right && batch->data.device() == Device::gpu(static_cast<int>(batch->index) % 2);
      const NDArray difference = batch->data.at(0) - batch->label.at(0);  // label, label + 0.5
      right = right && difference.to_vector<float>() == std::vector<float>{0, 0.5F};
      for (float label : batch->label.to_vector<float>()) {
        seen[static_cast<std::size_t>(label)] = true;
      }
      std::printf("epoch %d, batch %d: %d records on %s\n", static_cast<int>(batch->epoch),
                  static_cast<int>(batch->index), static_cast<int>(batch->data.shape()[0]),
                  batch->data.device().str().c_str());
    }
    right = right && seen == std::vector<bool>(10, true);
  }
  return right ? 0 : 1;
}
