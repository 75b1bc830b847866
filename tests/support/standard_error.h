#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <unistd.h>

namespace heddle::support {

/// What is written to standard error while the object lives.
class StandardError {
 public:
  StandardError() {
    std::fflush(stderr);
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~StandardError() {
    std::fflush(stderr);
    dup2(before_, STDERR_FILENO);
    close(before_);
    std::fclose(file_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

  std::string text() const {
    std::string text(1U << 16U, '\0');
    const ssize_t size = pread(fileno(file_), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }
  /// Blocks until something is there.
  std::string wait() const {
    while (text().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return text();
  }

 private:
  std::FILE* const file_ = std::tmpfile();
  const int before_ = dup(STDERR_FILENO);
};

}  // namespace heddle::support
