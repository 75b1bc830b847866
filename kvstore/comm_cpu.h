#pragma once

#include "kvstore/comm.h"

namespace heddle::kvstore {

/// Values are kept and summed on the CPU, in pinned memory, a big one by several workers at once.
class CommCpu final : public Comm {
 public:
  Device home(Device device) const override;
  std::vector<Part> place(std::int64_t size, std::size_t width, std::span<const Device> devices,
                          bool divisible) override;
};

}  // namespace heddle::kvstore
