#pragma once

#include <string>

#include "questions/lineup.h"

namespace bench::engine {

/// Prints by how many bytes the heap, and what is resident, has grown for each pending operation of
/// that program, with the first of the contenders that were asked for. To be right it has to be the
/// first that a process does.
void print_footprint(const std::string& program, const Options& options);

}  // namespace bench::engine
