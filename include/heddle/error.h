#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/device.h"

namespace heddle {

/// Base of every error that heddle raises about work, devices and files. Misuse of an argument is
/// std::invalid_argument instead, thrown by the call that got it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What an operation threw, with the operation it came from. Copies share one immutable state.
class OpError : public Error {
 public:
  OpError(std::string op_name, std::uint64_t sequence, Device device, std::exception_ptr cause);

  /// The name given at push, or "operation" if there was none.
  const std::string& op_name() const;
  /// The number that push returned for the operation. 0 if there was no memory to keep that: then
  /// name and cause do not tell anything either.
  std::uint64_t sequence() const;
  Device device() const;
  /// What was thrown; never null.
  std::exception_ptr cause() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Operations failed, one or more. Thrown by Engine::wait_for_all(); no OpError, but has them.
class AggregateError : public Error {
 public:
  AggregateError(std::vector<OpError> errors, std::size_t omitted);

  /// In sequence order: of each failed operation what it failed with, and of an asynchronous one
  /// what it has thrown after its Completion was used, and a second use of that.
  const std::vector<OpError>& errors() const { return *errors_; }
  /// Failures beyond the 1,024 that are kept.
  std::size_t omitted() const { return omitted_; }

 private:
  std::shared_ptr<const std::vector<OpError>> errors_;
  std::size_t omitted_;
};

/// A wait was called inside an operation. Names the waiting operation and what it waited for.
class ReentrantWait : public Error {
 public:
  using Error::Error;
};

/// The engine was shut down, before, or by cancelling the operation that was waited for, or by
/// leaving it when its time was over.
class EngineStopped : public Error {
 public:
  using Error::Error;
};

/// What was waited for was not written, as a CancelSource cancelled an operation. Names that
/// operation and its sequence number.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// An operation touched data that it had not declared: see EngineOptions::access_check. Names the
/// operation and the variable.
class AccessViolation : public Error {
 public:
  using Error::Error;
};

/// An engine was used in a forked child.
class ForkedChild : public Error {
 public:
  using Error::Error;
};

/// A device has no memory left for an allocation.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A device failed.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// The text of any exception: what() of a std::exception, else "unknown exception"; of none
/// "unknown error".
std::string describe(const std::exception_ptr& error);

}  // namespace heddle
