// The contender of examples/train_fashion_mnist: one thread of plain C++ over OpenBLAS with
// --blas-threads threads. Same network, same hyperparameters, same options, same last line.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>

#include <CLI/CLI.hpp>
#include <cblas.h>

#include "command_line.h"
#include "idx_file.h"
#include "serial_mlp.h"

namespace {

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  int epochs = 10;
  std::size_t batch = 128;
  std::uint64_t seed = 0;
  int blas_threads = 2;
};

struct Dataset {
  Dataset(const std::string& folder, const std::string& name)
      : images(read_idx(folder + "/" + name + "-images-idx3-ubyte.gz")),
        labels(read_idx(folder + "/" + name + "-labels-idx1-ubyte.gz")) {}
  std::size_t size() const { return labels.bytes.size(); }

  IdxFile images;
  IdxFile labels;
};

/// Collects the images `rows` of `data` in the network's input, as 0..1, and their labels.
void load(const Dataset& data, std::span<const std::size_t> rows, SerialMlp& net,
          std::vector<std::uint8_t>& labels) {
  const std::size_t pixels = data.images.row_size();
  labels.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint8_t* const from = data.images.bytes.data() + rows[i] * pixels;
    float* const to = net.input().data() + i * pixels;
    for (std::size_t k = 0; k < pixels; ++k) to[k] = static_cast<float>(from[k]) * (1.0F / 255.0F);
    labels[i] = data.labels.bytes[rows[i]];
  }
}

double accuracy(const Dataset& data, std::size_t batch, SerialMlp& net) {
  std::vector<std::size_t> order(data.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::uint8_t> labels;
  std::size_t correct = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += batch) {
    const std::size_t rows = std::min(batch, order.size() - begin);
    load(data, std::span(order).subspan(begin, rows), net, labels);
    correct += net.correct(labels);
  }
  return static_cast<double>(correct) / static_cast<double>(data.size());
}

void train(const Options& options) {
  using Clock = std::chrono::steady_clock;
  const Dataset training(options.data, "train");
  const Dataset test(options.data, "t10k");
  SerialMlp net(options.batch, options.seed);
  openblas_set_num_threads(options.blas_threads);
  std::printf("OpenBLAS: %s kernels, %d threads\n", openblas_get_corename(),
              openblas_get_num_threads());

  std::vector<std::size_t> order(training.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(options.seed);
  std::vector<std::uint8_t> labels;
  std::chrono::duration<double> elapsed{};
  double loss = 0;
  double test_accuracy = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    const Clock::time_point start = Clock::now();
    std::shuffle(order.begin(), order.end(), random);
    loss = 0;
    for (std::size_t begin = 0; begin < order.size(); begin += options.batch) {
      const std::size_t rows = std::min(options.batch, order.size() - begin);
      load(training, std::span(order).subspan(begin, rows), net, labels);
      loss += net.train(labels, 0.05F, 0.9F);
    }
    loss /= static_cast<double>(training.size());
    elapsed += Clock::now() - start;
    test_accuracy = accuracy(test, options.batch, net);
    std::printf("epoch %d/%d  loss %.4f  accuracy %.4f\n", epoch + 1, options.epochs, loss,
                test_accuracy);
  }
  const double images = static_cast<double>(training.size()) * options.epochs;
  std::printf("result: accuracy=%.4f loss=%.9g epochs=%d images_per_second=%.0f\n", test_accuracy,
              loss, options.epochs, images / elapsed.count());
}

int run_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Trains the network of train_fashion_mnist in one serial loop over OpenBLAS.");
  app.add_option("--data", options.data, "folder of the IDX files")->capture_default_str();
  app.add_option("--epochs", options.epochs)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", options.seed)->check(CLI::Range(0, 1 << 30))->capture_default_str();
  app.add_option("--blas-threads", options.blas_threads)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  train(options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_or_complain("train_fashion_mnist_serial", run_command_line, argc, argv);
}
