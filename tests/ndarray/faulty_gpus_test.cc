// On simulated GPUs on which something goes wrong.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

using Catch::Matchers::Contains;
using heddle::Device;
using heddle::Engine;
using heddle::NDArray;
using heddle::OpError;

namespace {

using Values = std::vector<float>;

constexpr std::int64_t kSize = 1000;

Device sound() { return Device::gpu(0); }
/// Is lost from launch 100 on. One case uses it.
Device losing() { return Device::gpu(1); }
/// Each third allocation finds no memory.
Device short_of_memory() { return Device::gpu(2); }
/// Each fifth launch fails.
Device failing() { return Device::gpu(3); }
/// Is lost from its first launch on.
Device lost() { return Device::gpu(4); }

Values all(float value) { return Values(kSize, value); }
NDArray full(float value, Device where) { return NDArray::full({kSize}, value, where); }

/// What waiting for the array throws; fails the test if it throws nothing.
OpError error_of(const NDArray& array) {
  try {
    array.wait_to_read();
  } catch (const OpError& error) {
    return error;
  }
  FAIL("no error");
  throw;
}

bool is_out_of_memory(const OpError& error) {
  try {
    std::rethrow_exception(error.cause());
  } catch (const heddle::OutOfMemory&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// True if the array is full of `value`, false if the operation that writes it found no memory.
bool holds(const NDArray& array, float value) {
  Values seen;
  try {
    seen = array.to_vector<float>();
  } catch (const OpError& error) {
    CHECK(is_out_of_memory(error));
    CHECK(error.device() == short_of_memory());
    CHECK_THAT(error.what(), Contains("[gpu(2)] out of memory: injected fault: allocation "));
    return false;
  }
  CHECK(seen == all(value));
  return true;
}

/// The numbers of the arrays that failed, each with an error that contains `text`.
std::vector<int> failed_of(const std::vector<NDArray>& numbers, const std::string& text) {
  std::vector<int> failed;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    try {
      numbers[i].wait_to_read();
    } catch (const OpError& error) {
      CHECK_THAT(error.what(), Contains(text));
      failed.push_back(static_cast<int>(i));
    }
  }
  return failed;
}

}  // namespace

TEST_CASE("a GPU lost in the middle of a script poisons what depends on it and nothing else") {
  NDArray on_losing = full(0, losing());
  NDArray on_sound = full(0, sound());
  NDArray on_host = full(0, Device::cpu());
  NDArray early;  // on another GPU, before
  NDArray late;   // the same after the loss
  for (int i = 1; i <= 200; ++i) {
    on_losing += 1.0F;
    on_sound += 1.0F;
    on_host += 2.0F;
    if (i == 50) {
      early = on_losing.to(sound());
      early.wait_to_read();
    }
    if (i == 150) late = on_losing.to(sound());
  }
  const NDArray mixed = late + on_sound;
  const NDArray told = mixed.to(Device::cpu());
  const OpError error = error_of(told);
  CHECK(error.device() == losing());
  CHECK_THAT(error.what(), Contains("[gpu(1)] the simulated GPU is lost from launch 100 on"));
  CHECK(error_of(late).sequence() == error.sequence());
  CHECK(error_of(on_losing).sequence() == error.sequence());
  CHECK(early.to_vector<float>() == all(50));
  CHECK(on_sound.to_vector<float>() == all(200));
  CHECK(on_host.to_vector<float>() == all(400));
  CHECK_NOTHROW(Engine::get().wait_for_all());
  late.copy_from(on_sound);
  CHECK(late.to_vector<float>() == all(200));
}

TEST_CASE("nobody gets memory of a lost GPU or reaches what lies there") {
  const NDArray first = full(1, lost());  // the launch that loses it
  CHECK_THAT(error_of(first).what(), Contains("[gpu(4)] the simulated GPU is lost"));
  const NDArray made = full(2, lost());
  const NDArray sent = full(3, sound()).to(lost());
  const NDArray taken({kSize}, lost());
  // By the stream of another GPU, which reads peers where they lie.
  const NDArray target = full(4, sound());
  Engine::get().push([taken](const heddle::RunContext&) { static_cast<void>(taken.data<float>()); },
                     {taken.var()}, {target.var()}, {.device = sound(), .name = "look"});
  for (const NDArray& array : {made, sent, target}) {
    CHECK_THAT(error_of(array).what(), Contains("[gpu(4)] the simulated GPU is lost"));
  }
  CHECK(error_of(target).op_name() == "look");
  CHECK(error_of(target).device() == sound());
  CHECK(full(5, sound()).to_vector<float>() == all(5));
}

TEST_CASE("each third allocation fails by name and what comes later succeeds", "[memory]") {
  int failures = 0;
  for (int i = 0; i < 60; ++i) {
    const auto value = static_cast<float>(i);
    if (!holds(full(value, short_of_memory()), value)) ++failures;
  }
  CHECK(failures == 20);
}

TEST_CASE("allocations that fail never hold up a script that runs ahead", "[memory]") {
  constexpr int kSteps = 15;
  std::vector<NDArray> sums;
  for (int i = 0; i < kSteps; ++i) {
    const NDArray x = full(static_cast<float>(i), short_of_memory());
    const NDArray y = full(1, sound()).to(short_of_memory());
    sums.push_back((x + y).to(sound()));
  }
  int failures = 0;
  for (int i = 0; i < kSteps; ++i) {
    const bool held = holds(sums[static_cast<std::size_t>(i)], static_cast<float>(i + 1));
    if (!held) ++failures;
  }
  CHECK(failures >= kSteps / 3);
  CHECK(holds(full(7, sound()), 7));
}

TEST_CASE("each fifth operation fails by name and the others give what they should") {
  std::vector<NDArray> numbers;
  for (int i = 0; i < 50; ++i) numbers.push_back(full(static_cast<float>(i), failing()));
  const std::vector<int> failed = failed_of(numbers, "[gpu(3)] injected fault: launch ");
  REQUIRE(failed.size() == 10);
  for (std::size_t i = 1; i < failed.size(); ++i) CHECK(failed[i] == failed[i - 1] + 5);
}

TEST_CASE("a script that does again what failed gets through") {
  // Three launches each: of three attempts in a row one meets no fifth.
  const auto in_three_attempts = [](const auto& attempt) {
    for (int i = 0; i < 2; ++i) {
      try {
        return attempt();
      } catch (const OpError&) {
        continue;
      }
    }
    return attempt();
  };
  for (int i = 0; i < 40; ++i) {
    const Values seen = in_three_attempts([&] {
      const NDArray x = full(static_cast<float>(i), failing());
      return (x + x).to_vector<float>();
    });
    CHECK(seen == all(static_cast<float>(2 * i)));
  }
}
