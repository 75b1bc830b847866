// NDArray: every line pushes an operation and returns. Arrays on different devices are worked on
// at the same time; only reading numbers waits.

#include <cstdio>
#include <vector>

#include <heddle/heddle.h>

using heddle::Device;
using heddle::NDArray;

int main() {
  heddle::configure({.gpus = "sim:2"});  // two simulated GPUs, also where there are real ones

  const NDArray x = NDArray::from<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  const NDArray weight = NDArray::from<float>({1, 0, 0, 1}, {2, 2});

  // Rows are views: they share the elements of x. to() copies to another device.
  const NDArray first = x.slice(0, 2).to(Device::gpu(0));
  const NDArray rest = x.slice(2, 3).to(Device::gpu(1));
  const NDArray a = heddle::dot(first, weight.to(Device::gpu(0))) * 10;
  const NDArray b = heddle::dot(rest, weight.to(Device::gpu(1))) * 10;

  // Back to the CPU. A scalar broadcasts, and so does a row.
  NDArray joined = heddle::concat({a.to(Device::cpu()), b.to(Device::cpu())});
  joined += NDArray::from<float>({1, 2}, {2});
  const float total = heddle::sum(joined).item<float>();
  std::printf("total %.0f\n", static_cast<double>(total));

  // Equal seeds give equal numbers on every device.
  heddle::random::seed(7);
  const NDArray here = heddle::random::normal(0, 1, {4}, Device::cpu());
  const NDArray there = heddle::random::normal(0, 1, {4}, Device::gpu(1));

  const std::vector<float> expected = {11, 22, 31, 42, 51, 62};
  const bool right = joined.to_vector<float>() == expected && total == 219 &&
                     here.to_vector<float>() == there.to_vector<float>();
  return right ? 0 : 1;
}
