#include "overlap/own_process.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace bench::overlap {
namespace {

/// Each row is a line for each of its three texts, and one for its samples.
std::string as_text(const std::vector<Row>& rows) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  for (const Row& row : rows) {
    text << row.name << '\n' << row.contender << '\n' << row.metric << '\n';
    for (const double sample : row.samples) text << sample << ' ';
    text << '\n';
  }
  return text.str();
}

std::vector<Row> from_text(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  Row row;
  std::string samples;
  while (std::getline(lines, row.name) && std::getline(lines, row.contender) &&
         std::getline(lines, row.metric) && std::getline(lines, samples)) {
    row.samples.clear();
    std::istringstream numbers(samples);
    for (double sample = 0; numbers >> sample;) row.samples.push_back(sample);
    rows.push_back(row);
  }
  return rows;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void run_child(const std::function<std::vector<Row>()>& measure, File out) {
  int status = EXIT_SUCCESS;
  try {
    std::fputs(as_text(measure()).c_str(), out.get());
    out.reset();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_overlap: %s\n", error.what());
    status = EXIT_FAILURE;
  }
  std::exit(status);  // NOLINT(concurrency-mt-unsafe): nothing else ends the process
}

std::string read_all(std::FILE* file) {
  std::string text;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  return text;
}

}  // namespace

std::vector<Row> rows_of_own_process(const std::function<std::vector<Row>()>& measure) {
  std::fflush(nullptr);  // what is in buffers would come out twice
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  File in(fdopen(ends[0], "r"), std::fclose);
  File out(fdopen(ends[1], "w"), std::fclose);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) run_child(measure, std::move(out));
  out.reset();
  const std::string text = read_all(in.get());
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("the process that measures has failed");
  return from_text(text);
}

}  // namespace bench::overlap
