#pragma once

#include <cstdio>
#include <exception>

namespace bench {

/// What main() returns: what `run` does, or 1 after a line on standard error that says what went
/// wrong with `program`.
inline int run_or_complain(const char* program, int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace bench
