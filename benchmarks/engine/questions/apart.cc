#include "questions/apart.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace bench::engine {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// A row is a line: three texts, none of which has a tab, and its samples.
std::string to_text(const std::vector<Row>& rows) {
  std::ostringstream out;
  out << std::setprecision(std::numeric_limits<double>::max_digits10);
  for (const Row& row : rows) {
    out << row.name << '\t' << row.contender << '\t' << row.metric << '\t';
    for (const double sample : row.samples) out << ' ' << sample;
    out << '\n';
  }
  return out.str();
}

std::vector<Row> from_text(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    Row& row = rows.emplace_back();
    std::getline(parts, row.name, '\t');
    std::getline(parts, row.contender, '\t');
    std::getline(parts, row.metric, '\t');
    for (double sample = 0; parts >> sample;) row.samples.push_back(sample);
  }
  return rows;
}

std::string read_all(std::FILE* file) {
  std::string text;
  std::array<char, 4096> part{};
  std::rewind(file);
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), file)) {
    text.append(part.data(), size);
  }
  return text;
}

/// Does not return: what is to be done at the process's exit is for the other one.
[[noreturn]] void answer(const Question& question, const Options& options, std::FILE* to) {
  try {
    Sheet sheet;
    question.answer(options, sheet);
    if (!sheet.rows().empty() && options.runs != 0) {
      std::printf("\n== %s: %s\n", question.name, question.asks);
      sheet.print();
    }
    std::fputs(to_text(sheet.rows()).c_str(), to);
    const bool is_written = std::fflush(to) == 0 && std::fflush(stdout) == 0;
    std::_Exit(is_written ? EXIT_SUCCESS : EXIT_FAILURE);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", question.name, error.what());
    std::_Exit(EXIT_FAILURE);
  }
}

}  // namespace

std::vector<Row> answer_apart(const Question& question, const Options& options) {
  const File file(std::tmpfile(), std::fclose);
  if (file == nullptr) throw std::runtime_error("there is no temporary file to be had");
  std::fflush(stdout);  // or the other process writes it, too
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("there is no process to be had");
  if (child == 0) answer(question, options, file.get());
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error(std::string(question.name) + " failed");
  return from_text(read_all(file.get()));
}

}  // namespace bench::engine
