#include <cstdio>
#include <memory>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  ++failures;
}

// Destroyed after main.
std::unique_ptr<heddle::NDArray> g_array;  // NOLINT(cert-err58-cpp)

}  // namespace

int main() {
  using heddle::Device;
  using heddle::Engine;
  using heddle::NDArray;
  heddle::RuntimeOptions options;
  options.gpus = "sim:1";
  heddle::configure(options);

  g_array = std::make_unique<NDArray>(NDArray::ones({1000}, Device::gpu(0)));
  NDArray on_host = NDArray::ones({1000});
  NDArray on_gpu = NDArray::ones({1000}, Device::gpu(0));
  NDArray unused({1000});
  const heddle::ShutdownReport report = Engine::get().shutdown();
  expect(report.completed == 3 && report.abandoned == 0, "shutdown ran the three operations");

  on_host = NDArray();
  on_gpu = NDArray();
  unused = NDArray();
  bool refused = false;
  try {
    NDArray::ones({2});
  } catch (const heddle::EngineStopped&) {
    refused = true;
  }
  expect(refused, "a new operation is refused");
  return failures;
}
