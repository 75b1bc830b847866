// KVStore: devices push gradients under a key, the store sums them and updates the value, the
// devices pull it.

#include <cstdio>
#include <memory>
#include <vector>

#include <heddle/heddle.h>

using heddle::Device;
using heddle::NDArray;

int main() {
  heddle::configure({.gpus = "sim:2"});
  const std::vector<Device> devices = {Device::gpu(0), Device::gpu(1)};

  const std::unique_ptr<heddle::KVStore> kv = heddle::KVStore::create("device");
  kv->init("weight", NDArray::ones({2, 2}, Device::cpu()));

  // Without an optimizer, a push replaces the value by the sum: 1 + 2.
  const std::vector<NDArray> outs = {NDArray({2, 2}, devices[0]), NDArray({2, 2}, devices[1])};
  kv->push("weight", {NDArray::full({2, 2}, 1, devices[0]), NDArray::full({2, 2}, 2, devices[1])});
  kv->pull("weight", outs);
  const bool summed = outs[1].to_vector<float>() == std::vector<float>(4, 3);

  // With one, the sum is a gradient: 3 - 0.5 * (1 + 1).
  kv->set_optimizer(heddle::Sgd{.lr = 0.5});
  kv->push("weight", {NDArray::ones({2, 2}, devices[0]), NDArray::ones({2, 2}, devices[1])});
  kv->pull("weight", outs);
  const bool updated = outs[0].to_vector<float>() == std::vector<float>(4, 2);

  // Or any function that pushes operations. Keys may be numbers, in a store of their own.
  const std::unique_ptr<heddle::KVStore> slow = heddle::KVStore::create("local");
  slow->set_updater([](const heddle::Key&, const NDArray& received, NDArray& stored) {
    stored += received * 0.25;
  });
  slow->init(0, NDArray::zeros({3}, Device::cpu()));
  for (int step = 0; step < 4; ++step) slow->push(0, NDArray::ones({3}, devices[0]));
  NDArray out({3}, devices[1]);
  slow->pull(0, out, /*priority=*/1);
  const bool averaged = out.to_vector<float>() == std::vector<float>(3, 1);

  std::printf("summed %d, updated %d, averaged %d\n", summed, updated, averaged);
  return summed && updated && averaged ? 0 : 1;
}
