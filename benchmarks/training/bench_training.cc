// Does training through the engine keep up with a plain serial loop? Runs both programs in turn,
// each as its own process, so that load on the machine meets both alike.

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_line.h"
#include "results.h"

namespace {

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  int repetitions = 7;
  int epochs = 3;
  bool quick = false;
  std::string json;
};

/// What follows "key=" in the last line of a program's output.
double result(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(' ' + key + '=');
  if (!line.starts_with("result: ") || at == std::string::npos) {
    throw std::runtime_error("expected a last line \"result: ... " + key + "=...\", got: " + line);
  }
  return std::stod(line.substr(at + key.size() + 2));
}

/// Time that others took from this virtual machine's CPUs since it started, in 1/100 s; 0 if nobody
/// says.
long stolen_time() {
  std::ifstream file("/proc/stat");
  std::string name;
  std::array<long, 8> times{};  // of which the last is meant: proc(5)
  file >> name;
  for (long& time : times) file >> time;
  return file ? times.back() : 0;
}

/// Runs `program` to its end and returns its last line.
std::string run_once(const std::string& program, const Options& options,
                     const std::string& arguments) {
  // Both programs get the kernels and threads that they choose by themselves.
  const std::string unset = "env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS ";
  const std::string command = unset + "'" + program + "' --data '" + options.data + "' --epochs " +
                              std::to_string(options.epochs) + " " + arguments;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::array<char, 1024> line{};
  std::string last;
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) last = line.data();
  if (pclose(pipe.release()) != 0) throw std::runtime_error("failed: " + command);
  return last;
}

/// As run_once(), but again if others took CPU time from it, a few times at most.
std::string run(const std::string& program, const Options& options, const std::string& arguments) {
  constexpr int kAttempts = 5;
  constexpr long kNegligible = 4;  // of the hundreds that a run takes
  std::string line;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const long before = stolen_time();
    line = run_once(program, options, arguments);
    if (stolen_time() - before <= kNegligible) break;
  }
  return line;
}

/// Both programs at one batch size. Returns the rows: serial, heddle, ratio, heddle's compute time.
std::vector<bench::Row> compare(const Options& options, int batch) {
  const std::string name = "batch " + std::to_string(batch);
  const std::string size = "--batch " + std::to_string(batch);
  bench::Row serial{name, "serial loop", "images_per_second", {}};
  bench::Row heddle{name, "heddle", "images_per_second", {}};
  bench::Row ratio{name, "heddle", "ratio to serial", {}};
  bench::Row compute{name, "heddle", "compute_seconds", {}};
  for (int i = 0; i < options.repetitions; ++i) {
    serial.samples.push_back(result(run(SERIAL_PROGRAM, options, size), "images_per_second"));
    const std::string line = run(HEDDLE_PROGRAM, options, size + " --gpus sim:2");
    heddle.samples.push_back(result(line, "images_per_second"));
    compute.samples.push_back(result(line, "compute_seconds"));
    ratio.samples.push_back(heddle.samples.back() / serial.samples.back());
    std::fprintf(stderr, "%s, run %d of %d: ratio %.3f\n", name.c_str(), i + 1, options.repetitions,
                 ratio.samples.back());
  }
  return {serial, heddle, ratio, compute};
}

/// heddle over links on which a device's batches take as long as it computes: `compute_seconds` for
/// all epochs.
std::vector<bench::Row> slow_links(const Options& options, int batch, double compute_seconds) {
  constexpr int kDevices = 2;
  constexpr double kBytesPerImage = (28 * 28 + 1) * sizeof(float);
  constexpr double kImagesPerEpoch = 60000;
  const double bytes = kImagesPerEpoch * options.epochs / kDevices * kBytesPerImage;
  const auto speed = std::to_string(bytes / compute_seconds * 1e-6);
  const std::string name = "batch " + std::to_string(batch) + ", slow links";
  const std::string arguments = "--batch " + std::to_string(batch) +
                                " --gpus 'sim:" + std::to_string(kDevices) + "?h2d=" + speed +
                                "MB/s'";
  bench::Row rate{name, "heddle", "images_per_second", {}};
  bench::Row overlap{name, "heddle", "overlap", {}};
  for (int i = 0; i < options.repetitions; ++i) {
    const std::string line = run(HEDDLE_PROGRAM, options, arguments);
    rate.samples.push_back(result(line, "images_per_second"));
    overlap.samples.push_back(result(line, "overlap"));
  }
  return {rate, overlap};
}

void measure(Options options) {
  if (options.quick) {
    options.repetitions = 3;
    options.epochs = 2;
  }
  std::vector<bench::Row> rows;
  const auto append = [&](const std::vector<bench::Row>& more) {
    rows.insert(rows.end(), more.begin(), more.end());
  };
  for (const int batch : {128, 1024}) {
    append(compare(options, batch));
    append(slow_links(options, batch, bench::quantile(rows.back().samples, 0.5)));
  }
  bench::print_table(rows);
  if (!options.json.empty()) bench::write_json(options.json, "training", rows);
}

int run_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Compares train_fashion_mnist with a serial loop over OpenBLAS.");
  app.add_option("--data", options.data, "Folder of the IDX files")->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "Runs of each program")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "Of each run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--quick", options.quick, "Three runs of two epochs");
  app.add_option("--json", options.json, "Write the rows to this file, too");
  CLI11_PARSE(app, argc, argv);
  measure(options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_or_complain("bench_training", run_command_line, argc, argv);
}
