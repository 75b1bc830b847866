#include "heddle/error.h"

#include <utility>

namespace heddle {
namespace {

std::string op_error_text(const std::string& op_name, std::uint64_t sequence, Device device,
                          const std::exception_ptr& cause) {
  return "[" + (op_name.empty() ? "operation" : op_name) + "] operation " +
         std::to_string(sequence) + " on " + device.str() + " failed: " + describe(cause);
}

std::string aggregate_text(const std::vector<OpError>& errors, std::size_t omitted) {
  const std::size_t count = errors.size() + omitted;
  std::string text =
      std::to_string(count) + (count == 1 ? " operation failed" : " operations failed");
  for (const OpError& error : errors) text.append("\n  ").append(error.what());
  if (omitted > 0) text += "\n  and " + std::to_string(omitted) + " more, omitted here";
  return text;
}

}  // namespace

struct OpError::State {
  std::string op_name;
  std::uint64_t sequence;
  Device device;
  std::exception_ptr cause;
};

OpError::OpError(std::string op_name, std::uint64_t sequence, Device device,
                 std::exception_ptr cause)
    : Error(op_error_text(op_name, sequence, device, cause)),
      state_(std::make_shared<const State>(
          State{op_name.empty() ? "operation" : std::move(op_name), sequence, device,
                cause ? std::move(cause) : std::make_exception_ptr(Error("unknown error"))})) {}

const std::string& OpError::op_name() const { return state_->op_name; }
std::uint64_t OpError::sequence() const { return state_->sequence; }
Device OpError::device() const { return state_->device; }
std::exception_ptr OpError::cause() const { return state_->cause; }

AggregateError::AggregateError(std::vector<OpError> errors, std::size_t omitted)
    : Error(aggregate_text(errors, omitted)),
      errors_(std::make_shared<const std::vector<OpError>>(std::move(errors))),
      omitted_(omitted) {}

std::string describe(const std::exception_ptr& error) {
  if (!error) return "unknown error";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    const char* const text = exception.what();
    return text != nullptr ? text : "unknown exception";
  } catch (...) {
    return "unknown exception";
  }
}

}  // namespace heddle
