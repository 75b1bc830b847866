#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

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

/// The names of a program's questions, each of which has a `name` and what it `asks`.
template <class Questions>
std::vector<std::string> names_of(const Questions& questions) {
  std::vector<std::string> names;
  for (const auto& question : questions) names.emplace_back(question.name);
  return names;
}

/// Those and what they ask, a line each, for a help text.
template <class Questions>
std::string describe_questions(const Questions& questions) {
  std::size_t longest = 0;
  for (const std::string& name : names_of(questions)) longest = std::max(longest, name.size());
  std::string text = "The questions:\n";
  for (const auto& question : questions) {
    std::string name = question.name;
    name.resize(longest + 2, ' ');
    text += "  " + name + question.asks + "\n";
  }
  return text;
}

}  // namespace bench
