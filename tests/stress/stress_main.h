#pragma once

#include <cstdint>
#include <exception>
#include <iostream>
#include <string_view>

#include "tests/support/number_arguments.h"

namespace heddle::stress {

/// What a stress program is asked for.
struct Arguments {
  std::uint64_t ops = 0;
  std::uint64_t seed = 1;
  std::uint64_t gpus = 0;
};

/// The main() of a stress program: reads the command line over the defaults in `arguments` and
/// returns run(arguments), or 2 with a message.
template <class Run>
int stress_main(int argc, char** argv, std::string_view program, Arguments arguments, Run&& run) {
  if (!support::parse_numbers(
          argc, argv,
          {{"--ops", &arguments.ops}, {"--seed", &arguments.seed}, {"--gpus", &arguments.gpus}})) {
    std::cerr << "usage: " << program << " [--ops N] [--seed S] [--gpus N]\n";
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}

}  // namespace heddle::stress
