#include "overlap/own_process.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace bench::overlap {
namespace {

// A complaint is a line that begins with the first word; a row is a line with the second one, a
// line for each of its texts, and one for its samples.
constexpr std::string_view kComplaint = "complaint ";
constexpr std::string_view kRow = "row";

std::string as_text(const Findings& findings) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  for (std::string complaint : findings.complaints) {
    std::replace(complaint.begin(), complaint.end(), '\n', ' ');
    text << kComplaint << complaint << '\n';
  }
  for (const Row& row : findings.rows) {
    text << kRow << '\n' << row.name << '\n' << row.contender << '\n' << row.metric << '\n';
    for (const double sample : row.samples) text << sample << ' ';
    text << '\n';
  }
  return text.str();
}

Row read_row(std::istream& lines) {
  Row row;
  std::string samples;
  std::getline(lines, row.name);
  std::getline(lines, row.contender);
  std::getline(lines, row.metric);
  std::getline(lines, samples);
  std::istringstream numbers(samples);
  for (double sample = 0; numbers >> sample;) row.samples.push_back(sample);
  return row;
}

Findings from_text(const std::string& text) {
  Findings findings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == kRow) findings.rows.push_back(read_row(lines));
    if (line.starts_with(kComplaint)) {
      findings.complaints.push_back(line.substr(kComplaint.size()));
    }
  }
  return findings;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void run_child(const std::function<Findings()>& measure, File out) {
  Findings findings;
  try {
    findings = measure();
  } catch (const std::exception& error) {
    findings.complaints.emplace_back(error.what());
  }
  std::fputs(as_text(findings).c_str(), out.get());
  out.reset();
  std::exit(EXIT_SUCCESS);  // NOLINT(concurrency-mt-unsafe): nothing else ends the process
}

std::string read_all(std::FILE* file) {
  std::string text;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  return text;
}

}  // namespace

Findings in_own_process(const std::function<Findings()>& measure) {
  std::fflush(nullptr);  // what is in buffers would come out twice
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  File in(fdopen(ends[0], "r"), std::fclose);
  File out(fdopen(ends[1], "w"), std::fclose);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) run_child(measure, std::move(out));
  out.reset();
  Findings findings = from_text(read_all(in.get()));
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    findings.complaints.push_back("the process with the real GPUs ended with the status " +
                                  std::to_string(status));
  }
  return findings;
}

}  // namespace bench::overlap
