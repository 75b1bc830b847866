#include "report.h"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 1; }

/// Only what GPUs compute may hide their copies, not the CPU's assembling of batches. A step of the
/// optimizer computes, too, though it is queued beside the exchange: there it does not hold up the
/// gradients of the next layer.
std::vector<heddle::OpRecord> of_gpus(std::span<const heddle::OpRecord> records) {
  std::vector<heddle::OpRecord> result;
  for (const heddle::OpRecord& record : records) {
    if (!record.device.is_gpu()) continue;
    result.push_back(record);
    if (record.name == "kvstore.update") result.back().lane = heddle::Lane::kCompute;
  }
  return result;
}

}  // namespace

Overlap report_devices(std::span<const heddle::OpRecord> records) {
  heddle::DeviceActivity total;
  std::printf("device   compute      copy  hidden  exchange  hidden\n");
  for (const auto& [device, activity] : heddle::summarize(of_gpus(records))) {
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
