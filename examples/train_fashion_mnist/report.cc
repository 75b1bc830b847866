#include "report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 1; }

}  // namespace

Overlap report_devices(std::span<const heddle::OpRecord> records) {
  // Only what GPUs compute may hide their copies, not the CPU's assembling of batches.
  std::vector<heddle::OpRecord> of_gpus;
  std::copy_if(records.begin(), records.end(), std::back_inserter(of_gpus),
               [](const heddle::OpRecord& record) { return record.device.is_gpu(); });

  heddle::DeviceActivity total;
  std::printf("device   compute      copy  hidden  exchange  hidden\n");
  for (const auto& [device, activity] : heddle::summarize(of_gpus)) {
    std::printf("%-7s %7.2f s %7.2f s %6.1f%% %7.2f s %6.1f%%\n", device.str().c_str(),
                activity.compute, activity.copy, 100 * share(activity.copy_hidden, activity.copy),
                activity.comm, 100 * share(activity.comm_hidden, activity.comm));
    total.compute += activity.compute;
    total.copy += activity.copy;
    total.copy_hidden += activity.copy_hidden;
    total.comm += activity.comm;
    total.comm_hidden += activity.comm_hidden;
  }
  return {.compute_seconds = total.compute,
          .copy = share(total.copy_hidden, total.copy),
          .comm = share(total.comm_hidden, total.comm)};
}

TraceFile::TraceFile(const std::string& path) : path_(path) {
  if (path_.empty()) return;
  const std::filesystem::file_status status = std::filesystem::status(path_);
  if (std::filesystem::is_directory(status)) {
    errno = EISDIR;
    fail();
  }
  // What is there and no file, as /dev/stdout, has to be written itself.
  const bool is_replaced = !std::filesystem::exists(status) || is_regular_file(status);
  if (is_replaced) {
    target_ = std::filesystem::weakly_canonical(path_);  // and not the link to it
    partial_ = target_.string() + ".partial-" + std::to_string(getpid());
  }
  errno = 0;
  out_.open(is_replaced ? partial_ : path_);
  if (!out_) fail();
}

TraceFile::~TraceFile() {
  if (partial_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void TraceFile::write(std::span<const heddle::OpRecord> records) {
  if (path_.empty()) return;
  errno = 0;
  heddle::write_chrome_trace(out_, records);
  out_.close();
  if (!out_) fail();
  if (partial_.empty()) return;
  std::error_code error;
  std::filesystem::rename(partial_, target_, error);
  if (!error) return;
  errno = error.value();
  fail();
}

void TraceFile::fail() const {
  throw heddle::Error("--trace " + path_.string() + ": cannot be written (" +
                      std::generic_category().message(errno) + ")");
}
