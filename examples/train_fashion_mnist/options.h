#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";  ///< folder of the four IDX files
  std::string gpus;                                        ///< as HEDDLE_GPUS; "": choose
  std::string kvstore = "device";
  int epochs = 10;
  int batch = 128;  ///< images per step, over all devices
  std::uint64_t seed = 0;
  std::string trace;  ///< "": none
};

/// The command line asks for something that there is not.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Prints the help and returns nullopt if that is asked for. Throws UsageError, one line.
std::optional<Options> parse_options(int argc, char** argv);
