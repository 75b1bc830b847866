#pragma once

#include <string>
#include <vector>

namespace heddle::support {

/// A program that fake_cuda_profiler.cc is linked into has a profiler that listens from the start.
/// What it was told of ranges since the last call, oldest first: "domain: name" where one began,
/// "end" where one ended, with the thread's depth in blanks before both.
std::vector<std::string> take_ranges();

}  // namespace heddle::support
