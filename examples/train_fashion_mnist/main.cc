// Data-parallel training as a serial script. Every line of train_step() only pushes operations; the
// engine overlaps the copies, the devices' work and the exchange of gradients and weights.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <heddle/heddle.h>

#include "mlp.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "test_set.h"

namespace {

using heddle::Device;
using heddle::KVStore;
using heddle::NDArray;
using heddle::Shape;
namespace io = heddle::io;

constexpr double kLearningRate = 0.05;
constexpr double kMomentum = 0.9;

/// A few steps: pushing further ahead hides nothing more, and the arrays of so many steps would not
/// stay in cache.
constexpr std::size_t kMaxPending = 512;

/// The loss of a step is shown so many steps later, as to wait for it at once would leave the
/// devices without work, but no later than this part of an epoch.
constexpr std::int64_t kShownAfter = 8;
constexpr std::int64_t kShownWithin = 20;  // 1 / kShownWithin

using Nets = std::vector<Mlp>;  // one per device

struct LossSoFar {
  std::vector<NDArray> losses;  // of each device, summed over `steps` steps of the epoch
  std::int64_t steps = 0;
};

/// Part `index` of `count` equal parts of the rows.
NDArray part(const NDArray& rows, std::size_t index, std::size_t count) {
  const std::int64_t size = rows.shape()[0] / static_cast<std::int64_t>(count);
  const std::int64_t begin = static_cast<std::int64_t>(index) * size;
  return rows.slice(begin, begin + size);
}

/// One array of a layer, from every device.
std::vector<NDArray> across(Nets& nets, int layer, NDArray Mlp::Layer::*array) {
  std::vector<NDArray> result;
  for (Mlp& net : nets) result.push_back(net.layer(layer).*array);
  return result;
}

int weight_key(int layer) { return 2 * layer; }
int bias_key(int layer) { return 2 * layer + 1; }

/// The networks, on every device with the same first weights, and the same weights in the store.
Nets make_nets(const std::vector<Device>& devices, std::uint64_t seed, KVStore& kv) {
  Nets nets(devices.begin(), devices.end());
  heddle::random::seed(seed);
  for (int layer = 0; layer < Mlp::kLayers; ++layer) {
    const NDArray weight = initial_weight(layer);
    const NDArray bias = NDArray::zeros({weight.shape()[0]}, Device::cpu());
    kv.broadcast(weight_key(layer), weight, across(nets, layer, &Mlp::Layer::weight));
    kv.broadcast(bias_key(layer), bias, across(nets, layer, &Mlp::Layer::bias));
  }
  return nets;
}

void train_step(const io::Batch& batch, Nets& nets, std::vector<NDArray>& losses, KVStore& kv) {
  for (std::size_t i = 0; i < nets.size(); ++i) {
    const NDArray images = part(batch.data, i, nets.size()).to(nets[i].device());
    const NDArray labels = part(batch.label, i, nets.size()).to(nets[i].device());
    const NDArray logits = nets[i].forward(images);
    losses[i] += heddle::softmax_cross_entropy(logits, labels);
    nets[i].start_backward(logits, labels);
  }
  for (int layer = Mlp::kLayers - 1; layer >= 0; --layer) {
    for (Mlp& net : nets) net.backward(layer);
    const int priority = -layer;  // the next step needs the front layers first
    kv.push(weight_key(layer), across(nets, layer, &Mlp::Layer::weight_grad), priority);
    kv.pull(weight_key(layer), across(nets, layer, &Mlp::Layer::weight), priority);
    kv.push(bias_key(layer), across(nets, layer, &Mlp::Layer::bias_grad), priority);
    kv.pull(bias_key(layer), across(nets, layer, &Mlp::Layer::bias), priority);
  }
}

std::vector<NDArray> zero_losses(const std::vector<Device>& devices) {
  std::vector<NDArray> losses;
  losses.reserve(devices.size());
  for (const Device& device : devices) losses.push_back(NDArray::zeros(Shape{}, device));
  return losses;
}

/// The sums of losses as they are now, on their way to the host.
std::vector<NDArray> on_host(const std::vector<NDArray>& losses) {
  std::vector<NDArray> result;
  result.reserve(losses.size());
  for (const NDArray& loss : losses) result.push_back(loss.to(Device::cpu()));
  return result;
}

/// Blocks until the `steps` steps that gave the losses have ended.
double mean_loss(const std::vector<NDArray>& losses, std::int64_t steps) {
  double sum = 0;
  for (const NDArray& loss : losses) sum += loss.item<float>();
  return sum / static_cast<double>(steps) / static_cast<double>(losses.size());
}

/// Sets up the runtime as the options say, and says what it uses.
std::vector<Device> set_up_devices(const Options& options) {
  std::string gpus = options.gpus;
  const char* why = "as given";
  if (gpus.empty()) {
    const int real = heddle::num_physical_gpus();
    gpus = real >= 2 ? "cuda:0,cuda:1" : real == 1 ? "cuda:0,cuda:0" : "sim:2";
    why = real >= 2   ? "two real GPUs"
          : real == 1 ? "two halves of the only real GPU"
                      : "two simulated GPUs: there is no real one";
  }
  heddle::configure({.gpus = gpus, .engine = {.max_pending = kMaxPending, .trace = true}});
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(heddle::num_gpus()));
  for (int i = 0; i < heddle::num_gpus(); ++i) devices.push_back(Device::gpu(i));
  if (devices.empty())
    throw UsageError("--gpus or HEDDLE_GPUS " + gpus + ": expected at least one GPU");
  std::printf("devices: %zu (%s; %s)\n", devices.size(), gpus.c_str(), why);
  return devices;
}

void check_batch(const Options& options, std::size_t devices, std::int64_t images) {
  const auto count = static_cast<int>(devices);
  if (options.batch % count == 0 && options.batch <= images) return;
  throw UsageError("--batch " + std::to_string(options.batch) + ": expected a multiple of " +
                   std::to_string(count) + ", the number of devices, up to " +
                   std::to_string(images) + ", the number of images");
}

io::Source open(const Options& options, const std::string& name) {
  const auto file = [&](const char* content) {
    const std::string plain = options.data + "/" + name + content;
    return std::filesystem::exists(plain) ? plain : plain + ".gz";
  };
  return io::idx(file("-images-idx3-ubyte"), file("-labels-idx1-ubyte"));
}

void train(const Options& options) {
  TraceFile trace(options.trace);
  const std::vector<Device> devices = set_up_devices(options);
  const std::unique_ptr<KVStore> kv = KVStore::create(options.kvstore);
  const io::Source training = open(options, "train");
  const io::Source test = open(options, "t10k");
  check_batch(options, devices.size(), training.size());

  // What does not fill a batch opens the next epoch, so every step is of full size.
  io::Pipeline batches(training, {.batch_size = options.batch,
                                  .shuffle = true,
                                  .seed = options.seed,
                                  .last_batch = io::LastBatch::kRollOver,
                                  .transforms = {scale_pixels},
                                  .devices = {Device::cpu_pinned()}});

  // The devices' gradients are of means over equal parts of a batch: their sum, over the number of
  // devices, is the gradient of the mean over the batch.
  kv->set_optimizer(heddle::Sgd{.lr = kLearningRate / static_cast<double>(devices.size()),
                                .momentum = kMomentum});
  Nets nets = make_nets(devices, options.seed, *kv);

  TestSet test_set(test, devices);
  Progress progress(options.epochs, options.batch);
  double loss = 0;
  double test_accuracy = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    std::vector<NDArray> losses = zero_losses(devices);
    const std::int64_t steps = batches.batches_per_epoch();
    const std::int64_t delay = std::min(kShownAfter, steps / kShownWithin);
    progress.begin_epoch(steps);
    std::deque<LossSoFar> due;
    while (const auto batch = batches.next()) {
      train_step(*batch, nets, losses, *kv);
      test_set.send(progress.steps(), steps);
      if (progress.step()) due.push_back({on_host(losses), progress.steps()});
      if (!due.empty() && due.front().steps + delay <= progress.steps()) {
        progress.show(due.front().steps, mean_loss(due.front().losses, due.front().steps));
        due.pop_front();
      }
    }
    loss = mean_loss(losses, progress.steps());
    progress.stop_clock();
    test_accuracy = test_set.accuracy(nets);
    progress.end_epoch(loss, test_accuracy);
  }

  heddle::Engine::get().wait_for_all();
  const std::vector<heddle::OpRecord> records = heddle::Engine::get().trace();
  const Overlap overlap = report_devices(records);
  trace.write(records);
  std::printf(
      "result: accuracy=%.4f loss=%.9g epochs=%d devices=%zu images_per_second=%.0f overlap=%.3f "
      "comm_overlap=%.3f compute_seconds=%.3f\n",
      test_accuracy, loss, options.epochs, devices.size(), progress.images_per_second(),
      overlap.copy, overlap.comm, overlap.compute_seconds / static_cast<double>(devices.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const auto complain = [](const std::exception& error, int exit_code) {
    std::fprintf(stderr, "train_fashion_mnist: %s\n", error.what());
    return exit_code;
  };
  try {
    if (const auto options = parse_options(argc, argv)) train(*options);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
    throw heddle::Error("standard output cannot be written");
  } catch (const UsageError& error) {
    return complain(error, 2);
  } catch (const std::invalid_argument& error) {
    return complain(error, 2);
  } catch (const std::exception& error) {
    return complain(error, 1);
  }
}
