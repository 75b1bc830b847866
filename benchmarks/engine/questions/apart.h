#pragma once

#include <vector>

#include "questions/questions.h"
#include "results.h"

namespace bench::engine {

/// Has a process of its own answer the question, and print what it has measured: what one question
/// leaves behind in the heap, or in a runtime, would cost all contenders of the next one time. For
/// a process of one thread. Throws std::runtime_error if that of the question fails, which then has
/// said why.
std::vector<Row> answer_apart(const Question& question, const Options& options);

}  // namespace bench::engine
