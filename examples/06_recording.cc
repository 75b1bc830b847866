// Engine::record: a step that is the same each time is captured once, and then run. A run costs
// less than pushing the step again, and is ordered with everything else as if it had been pushed.

#include <cstdio>
#include <vector>

#include <heddle/heddle.h>

namespace {

constexpr int kSteps = 200;

/// One step of training a line through noisy points: y = w * x + b.
void train_step(const heddle::NDArray& line) {
  const heddle::NDArray x = heddle::random::uniform(-1, 1, {64, 1});
  const heddle::NDArray noise = heddle::random::normal(0, 0.01, {64, 1});
  const heddle::NDArray y = 3 * x + 2 + noise;

  const heddle::NDArray error = line.at(0) * x + line.at(1) - y;
  const heddle::NDArray slopes[] = {heddle::mean(error * x), heddle::mean(error)};
  for (int i = 0; i < 2; ++i) {
    heddle::NDArray parameter = line.at(i);
    parameter -= slopes[i];
  }
}

}  // namespace

int main() {
  heddle::Engine& engine = heddle::Engine::get();

  heddle::random::seed(1);
  const heddle::NDArray pushed = heddle::NDArray::zeros({2});
  for (int i = 0; i < kSteps; ++i) train_step(pushed);

  // Nothing runs here: the pushes of train_step() are kept. Its arrays are, too.
  heddle::random::seed(1);
  const heddle::NDArray replayed = heddle::NDArray::zeros({2});
  const heddle::Recording step = engine.record([&] { train_step(replayed); });
  std::printf("a step has %zu operations\n", step.size());

  // Each run draws new numbers. Runs need no wait between them, nor before what follows.
  for (int i = 0; i < kSteps; ++i) step.run();

  const std::vector<float> line = replayed.to_vector<float>();
  std::printf("y = %.3f x + %.3f\n", line[0], line[1]);
  const bool is_right = line[0] > 2.98F && line[0] < 3.02F && line[1] > 1.98F && line[1] < 2.02F;
  return is_right && line == pushed.to_vector<float>() ? 0 : 1;
}
