#include "heddle/recording.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/ndarray/arrays.h"

// Arrays in scripts that are recorded: their operations are pushes, so what is left to show is that
// their memory is there in every run, and given back.

namespace heddle {
namespace {

using support::devices;

/// The number of operations pushed by `use`.
template <class Use>
std::uint64_t operations_of(Use use) {
  Engine& engine = Engine::get();
  engine.wait_for_all();
  const std::uint64_t first = engine.push([] {}, {}, {});
  use();
  return engine.push([] {}, {}, {}) - first - 1;
}

TEST_CASE("arrays made in a script keep their memory until the recording is gone") {
  for (const Device device : devices()) {
    const NDArray sum = NDArray::zeros({3}, device);
    std::optional<Recording> recording = Engine::get().record([&] {
      const NDArray part = NDArray::full({3}, 2, device);
      sum.copy_from(part.copy());
    });
    recording->run();
    recording->run();
    CHECK(sum.to_vector<float>() == std::vector<float>{2, 2, 2});
    CHECK(operations_of([&] { recording.reset(); }) == 2);  // the frees of two arrays
  }
}

TEST_CASE("an array whose last handle goes while a thread records is given back then") {
  for (const Device device : devices()) {
    NDArray old = NDArray::ones({3}, device);
    std::optional<Recording> recording;
    CHECK(operations_of([&] {
            recording = Engine::get().record([&] { old = NDArray::zeros({3}, device); });
          }) == 1);
    CHECK(recording->size() == 1);
    recording->run();
    CHECK(old.to_vector<float>() == std::vector<float>{0, 0, 0});
  }
}

TEST_CASE("what a script that throws has made is given back") {
  for (const Device device : devices()) {
    const auto use = [device] {
      Engine::get().record([device] {
        const NDArray made = NDArray::ones({3}, device);
        throw 1;
      });
    };
    CHECK_THROWS_AS(use(), int);
  }
  Engine::get().wait_for_all();
}

TEST_CASE("values given to a script are there anew in each run") {
  for (const Device device : devices()) {
    NDArray seen;
    const Recording recording = Engine::get().record([&] {
      const NDArray x = NDArray::from({1.0F, 2.0F, 3.0F}, {3}, device);
      seen = x.copy();
      x.copy_from(NDArray::zeros({3}, device));
    });
    for (int i = 0; i < 3; ++i) {
      recording.run();
      CHECK(seen.to_vector<float>() == std::vector<float>{1, 2, 3});
    }
  }
}

TEST_CASE("copies between devices are recorded") {
  const NDArray source = NDArray::arange(0, 4, 1, Device::cpu());
  const NDArray target({4}, Device::gpu(1));
  const Recording recording = Engine::get().record(
      [&] { target.copy_from(source.to(Device::gpu(0)).copy().to(Device::gpu(1))); });
  for (float value = 1; value < 4; ++value) {
    source.copy_from(NDArray::full({4}, value));
    recording.run();
    CHECK(target.to_vector<float>() == std::vector<float>(4, value));
  }
}

TEST_CASE("an array cannot be read while a thread records, and the attempt records nothing") {
  for (const Device device : devices()) {
    const NDArray x = NDArray::ones({2}, device);
    const Recording recording = Engine::get().record([&] {
      CHECK_THROWS_WITH(x.to_vector<float>(), Catch::Contains("while this thread records"));
      CHECK_THROWS_AS(x.slice(0, 1).item<float>(), Error);
      CHECK_THROWS_AS(x.wait_to_read(), Error);
      CHECK_THROWS_AS(x.wait_to_write(), Error);
    });
    CHECK(recording.size() == 0);
    CHECK(x.to_vector<float>() == std::vector<float>{1, 1});
  }
}

}  // namespace
}  // namespace heddle
