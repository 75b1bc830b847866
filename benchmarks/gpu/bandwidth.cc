// Adds large arrays element by element: how many bytes a second are read and written, beside a copy
// within the device, which is all that its memory gives.

#include <cstddef>

#include <heddle/heddle.h>

#include "gpu/by_hand/cuda_device.h"
#include "gpu/questions.h"
#include "overlap/by_hand/cuda_check.h"

namespace bench::gpu {
namespace {

using heddle::Device;
using heddle::NDArray;

/// 0, 1, …, 1023, 0, …: the sums of two such numbers are exact.
std::vector<float> numbers(std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i % 1024);
  return values;
}

class Arrays {
 public:
  Arrays(std::int64_t size, int times)
      : times_(times),
        values_(numbers(static_cast<std::size_t>(size))),
        a_(NDArray::from(values_, {size}, Device::gpu(0))),
        b_(NDArray::full({size}, 1.0F, Device::gpu(0))),
        from_(values_),
        to_(bytes()) {}

  // Each returns GB/s.

  double add() {
    NDArray sum;
    const double us = microseconds([&] {
      for (int i = 0; i < times_; ++i) sum = a_ + b_;
      sum.wait_to_read();
    });
    sum_ = sum;
    return rate(3, us);
  }

  double copy() {
    const double us = microseconds([&] {
      for (int i = 0; i < times_; ++i) {
        overlap::by_hand::check(cudaMemcpyAsync(to_.data(), from_.data(), bytes(),
                                                cudaMemcpyDeviceToDevice, stream_.handle()),
                                "cudaMemcpyAsync within the device");
      }
      stream_.synchronize();
    });
    return rate(2, us);
  }

  /// Of what was computed last.
  void verify() const {
    const std::vector<float> sums = sum_.to_vector<float>();
    bool is_right = true;
    for (std::size_t i = 0; i < sums.size(); ++i) is_right = is_right && sums[i] == values_[i] + 1;
    expect(is_right, kHeddle, "sums");
    expect(to_.to_floats() == values_, kByHand, "copy");
  }

 private:
  std::size_t bytes() const { return values_.size() * sizeof(float); }
  /// If each element of so many arrays is read or written.
  double rate(int arrays, double us) const {
    return static_cast<double>(bytes()) * arrays * times_ / us / 1e3;
  }

  const int times_;
  const std::vector<float> values_;
  const NDArray a_;
  const NDArray b_;
  NDArray sum_;
  const by_hand::Memory from_;
  const by_hand::Memory to_;
  const by_hand::Stream stream_;
};

}  // namespace

void bandwidth(const Settings& settings, Sheet& sheet) {
  const std::vector<std::int64_t> sizes = settings.quick
                                              ? std::vector<std::int64_t>{1 << 14}
                                              : std::vector<std::int64_t>{1 << 24, 1 << 26};
  for (const std::int64_t size : sizes) {
    Arrays arrays(size, settings.quick ? 2 : 20);
    const std::vector<Row> rows = race(
        "addition of " + std::to_string(size) + " float32", "GB/s",
        {{kHeddle, [&] { return arrays.add(); }}, {"copy by CUDA", [&] { return arrays.copy(); }}},
        settings.runs);
    arrays.verify();
    sheet.add(rows[0]);
    sheet.add(rows[1]);
    sheet.add(ratio(rows[0], rows[1], "over the copy"), at_least(0.9));
  }
}

}  // namespace bench::gpu
