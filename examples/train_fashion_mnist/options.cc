#include "options.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <heddle/heddle.h>

namespace {

std::string describe_environment() {
  std::ostringstream text;
  text << "The environment that heddle reads:\n";
  heddle::print_environment_help(text);
  return text.str();
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a multilayer perceptron on Fashion-MNIST, data-parallel over GPUs.",
               "train_fashion_mnist");
  app.footer(describe_environment());
  const CLI::Range at_least_one(1, std::numeric_limits<int>::max());
  const auto is_seed = [](const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, code] = std::from_chars(text.data(), end, number);
    if (code == std::errc() && rest == end) return std::string();
    return text + ": expected a whole number from 0 to 2^64 - 1";
  };
  app.add_option("--data", options.data, "Folder of the IDX files, plain or .gz")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--gpus", options.gpus,
                 "GPUs to train on: cuda:0,cuda:1 or sim:2?h2d=1GB/s or auto. Default: two real "
                 "ones, else one shared by two, else two simulated ones")
      ->type_name("SPEC")
      ->envname("HEDDLE_GPUS");
  app.add_option("--kvstore", options.kvstore, "Where gradients are summed: local or device")
      ->type_name("TYPE")
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "Passes over the training images")
      ->type_name("N")
      ->check(at_least_one)
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Images per step, split over the GPUs")
      ->type_name("N")
      ->check(at_least_one)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first weights and of the order of the images")
      ->type_name("N")
      ->check(is_seed)
      ->capture_default_str();
  app.add_option("--trace", options.trace, "Write a Chrome trace, for ui.perfetto.dev")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + " (see --help)");
  }
  return options;
}
