// Leaves main with an array on a GPU, which the thread that ends the process gives back, and an
// operation that is stuck. Its device is not the host's, and it has an engine with threads. With
// the argument "push" that thread also pushes an operation to the GPU, which comes too late to run.

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/support/gate.h"

namespace {

struct PushesInTheEnd {
  ~PushesInTheEnd() {
    heddle::Engine::get().push([] { std::_Exit(1); }, {}, {}, {.device = heddle::Device::gpu(0)});
  }
};

// Constructed before the engine, destroyed after its exit handler.
std::optional<PushesInTheEnd> g_pushes;
std::optional<heddle::NDArray> g_array;
heddle::support::Gate& g_never = *new heddle::support::Gate;

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "push") g_pushes.emplace();
  g_array = heddle::NDArray::from(std::vector<float>(100, 1.0F), {100}, heddle::Device::gpu(0));
  g_array->wait_to_read();
  heddle::Engine::get().push([] { g_never.wait(); }, {}, {});
  return 14;
}
