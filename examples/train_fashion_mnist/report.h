#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include <heddle/heddle.h>

/// Shares of the time of all GPUs' copies and exchanges that passed while a GPU computed; 1 if
/// there were none.
struct Overlap {
  double compute_seconds = 0;  ///< busy computing, all devices together
  double copy = 1;
  double comm = 1;
};

/// Prints a table of what each GPU did, and sums it up.
Overlap report_devices(std::span<const heddle::OpRecord> records);

/// A file that exists in full or not at all: written beside its place and renamed, unless something
/// that is no file, as a pipe, is there. A path of "" is no file, and everything does nothing.
class TraceFile {
 public:
  /// Throws heddle::Error, naming the path, if it cannot be written to.
  explicit TraceFile(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void write(std::span<const heddle::OpRecord> records);

 private:
  [[noreturn]] void fail() const;

  const std::filesystem::path path_;
  std::filesystem::path target_;   // path_, with links followed
  std::filesystem::path partial_;  // empty if path_ is written itself
  std::ofstream out_;
};
