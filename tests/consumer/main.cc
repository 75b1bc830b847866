// Uses each part of the installed package through its umbrella header only.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include <heddle/heddle.h>

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "consumer: %s\n", what);
  ++failures;
}

void use_engine() {
  heddle::Engine engine;
  const heddle::Var x = engine.new_variable("x");
  int value = 0;
  for (int i = 0; i < 100; ++i) {
    engine.push([&value] { value = value * 3 + 1; }, {}, {x}, {.name = "step"});
  }
  engine.wait_for_var(x);
  expect(engine.version(x) == 100, "100 operations make 100 versions");
}

void use_arrays() {
  const heddle::NDArray a = heddle::NDArray::arange(0, 6).reshape({2, 3});
  const heddle::NDArray b = heddle::dot(a.to(heddle::Device::gpu(0)), a.to(heddle::Device::gpu(0)),
                                        /*transpose_a=*/false, /*transpose_b=*/true);
  expect(b.to_vector<float>() == std::vector<float>{5, 14, 14, 50}, "the product is right");
}

void use_store() {
  const std::unique_ptr<heddle::KVStore> kv = heddle::KVStore::create("device");
  kv->init(7, heddle::NDArray::zeros({4}, heddle::Device::cpu()));
  const heddle::NDArray one = heddle::NDArray::ones({4}, heddle::Device::gpu(0));
  const heddle::NDArray out({4}, heddle::Device::gpu(1));
  kv->push(7, {one, one});
  kv->pull(7, out);
  expect(out.to_vector<float>() == std::vector<float>(4, 2), "the store sums");
}

void use_pipeline() {
  const heddle::NDArray data = heddle::NDArray::arange(0, 10).reshape({10, 1});
  const heddle::NDArray label = heddle::NDArray::zeros({10}, heddle::Device::cpu());
  heddle::io::Pipeline batches(heddle::io::in_memory(data, label), {.batch_size = 4});
  std::int64_t samples = 0;
  while (const auto batch = batches.next()) samples += batch->data.shape()[0];
  expect(samples == 10, "an epoch has every sample");
}

}  // namespace

int main() {
  heddle::configure({.gpus = "sim:2"});
  use_engine();
  use_arrays();
  use_store();
  use_pipeline();
  return failures == 0 ? 0 : 1;
}
