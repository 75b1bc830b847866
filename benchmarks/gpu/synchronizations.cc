// Graphs of operations that touch GPUs only: how often heddle has a thread wait for a GPU
// meanwhile.

#include <array>
#include <cstddef>
#include <random>

#include <heddle/cuda.h>
#include <heddle/heddle.h>

#include "engine/device/cuda_synchronize.h"
#include "gpu/by_hand/cuda_device.h"
#include "gpu/by_hand/cuda_kernels.h"
#include "gpu/questions.h"

namespace bench::gpu {
namespace {

using heddle::Device;
using heddle::Engine;
using heddle::Lane;
using heddle::NDArray;

/// Kernels in all lanes, each of which reads one variable of 32 and changes another.
void run_kernels(int operations) {
  constexpr std::array kLanes = {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm};
  Engine& engine = Engine::get();
  std::vector<heddle::Var> vars(32);
  for (heddle::Var& var : vars) var = engine.new_variable();
  by_hand::Counters counters(vars.size());
  std::vector<unsigned> expected(vars.size());
  std::minstd_rand random(1);
  for (int i = 0; i < operations; ++i) {
    const std::size_t from = random() % vars.size();
    const std::size_t to = (from + 1 + random() % (vars.size() - 1)) % vars.size();
    ++expected[to];
    engine.push(
        [counter = counters.at(to)](const heddle::RunContext& context) {
          by_hand::launch_tick(heddle::cuda_stream(context), counter);
        },
        {vars[from]}, {vars[to]},
        {.device = Device::gpu(0), .lane = kLanes[random() % kLanes.size()]});
  }
  engine.wait_for_all();
  expect(counters.take() == expected, kHeddle, "kernels counted");
}

/// Additions and relu() in turn; beside them memory comes and goes.
void run_arrays(int operations) {
  const int additions = operations / 2;
  const NDArray one = NDArray::ones({64, 64}, Device::gpu(0));
  NDArray sum = NDArray::zeros({64, 64}, Device::gpu(0));
  for (int i = 0; i < additions; ++i) sum = heddle::relu(sum + one);
  const std::vector<float> values = sum.to_vector<float>();
  const std::vector<float> expected(values.size(), static_cast<float>(additions));
  expect(values == expected, kHeddle, "sums");
}

}  // namespace

void synchronizations(const Settings& settings, Sheet& sheet) {
  const int operations = settings.quick ? 500 : 10000;
  const auto add = [&](const char* what, void (*run)(int operations)) {
    const auto count = [run, operations] {
      const std::uint64_t before = heddle::device::cuda_blocking_synchronizations();
      run(operations);
      return static_cast<double>(heddle::device::cuda_blocking_synchronizations() - before);
    };
    const std::string name = std::to_string(operations) + what;
    sheet.add(race(name, "blocking synchronizations", {{kHeddle, count}}, settings.runs).front(),
              at_most(0));
  };
  add(" kernels in four lanes", run_kernels);
  add(" operations on arrays", run_arrays);
}

}  // namespace bench::gpu
