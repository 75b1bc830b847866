#include "test_set.h"

#include <utility>

using heddle::Device;
using heddle::NDArray;
namespace io = heddle::io;

namespace {

constexpr int kBatch = 500;

}  // namespace

TestSet::TestSet(io::Source source, std::vector<Device> devices)
    : devices_(std::move(devices)),
      unsent_(io::Pipeline(
          std::move(source),
          {.batch_size = kBatch, .transforms = {scale_pixels}, .devices = {Device::cpu_pinned()}})),
      count_(unsent_->batches_per_epoch()) {}

void TestSet::send(std::int64_t part, std::int64_t whole) {
  const auto sent = [this] { return static_cast<std::int64_t>(batches_.size()); };
  while (unsent_ && sent() * whole < count_ * part) {
    const auto batch = unsent_->next();
    const Device device = devices_[batches_.size() % devices_.size()];
    batches_.push_back({batch->data.to(device), batch->label.to(device)});
    if (sent() == count_) unsent_.reset();
  }
}

double TestSet::accuracy(std::vector<Mlp>& nets) {
  send(1, 1);
  std::vector<NDArray> results;
  results.reserve(batches_.size());
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    results.push_back(heddle::argmax(nets[i % nets.size()].forward(batches_[i].images), 1));
  }
  std::int64_t correct = 0;
  std::int64_t total = 0;
  for (std::size_t batch = 0; batch < batches_.size(); ++batch) {
    const auto classes = results[batch].to_vector<std::int64_t>();
    const auto labels = batches_[batch].labels.to_vector<float>();
    for (std::size_t i = 0; i < classes.size(); ++i, ++total) {
      correct += static_cast<float>(classes[i]) == labels[i] ? 1 : 0;
    }
  }
  return static_cast<double>(correct) / static_cast<double>(total);
}
