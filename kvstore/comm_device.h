#pragma once

#include <map>

#include "kvstore/comm.h"

namespace heddle::kvstore {

/// Values are kept and summed on the GPUs that push, so that none does much more than the others: a
/// big value is divided among all of them, a small one goes to the one that has least. Arrays
/// travel between GPUs directly. If none of the arrays is on a GPU, the CPU is the device.
class CommDevice final : public Comm {
 public:
  Device home(Device device) const override;
  std::vector<Part> place(std::int64_t size, std::size_t width, std::span<const Device> devices,
                          bool divisible) override;

 private:
  std::map<Device, std::size_t> loads_;  // bytes of the parts placed so far
};

}  // namespace heddle::kvstore
