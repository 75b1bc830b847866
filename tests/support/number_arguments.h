#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

namespace heddle::support {

/// The numbers of a command line by their options.
using NumberArguments = std::map<std::string, std::uint64_t*>;

/// Reads "--option number" pairs. False if an option is not known or what follows is no number.
inline bool parse_numbers(int argc, char** argv, const NumberArguments& known) {
  for (int i = 1; i < argc; i += 2) {
    const auto option = known.find(argv[i]);
    if (option == known.end() || i + 1 == argc) return false;
    char* end = nullptr;
    *option->second = std::strtoull(argv[i + 1], &end, 10);
    if (end == argv[i + 1] || *end != '\0') return false;
  }
  return true;
}

}  // namespace heddle::support
