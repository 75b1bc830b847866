#pragma once

#include <functional>
#include <vector>

#include "engine/engine_core.h"

namespace heddle::relacy {

/// An engine that only has an id, for parts that belong to one.
class StubEngine final : public detail::EngineCore {
 public:
  StubEngine() : EngineCore(EngineOptions()) {}

  /// Of a variable that belongs to it.
  static constexpr std::uint64_t kId = 1;

  bool try_admit() override { return true; }
  void cancel_admission() override {}
  std::uint64_t push(detail::Task& /*task*/, VarList /*reads*/, VarList /*mutates*/,
                     const PushOptions& /*options*/) override {
    return 0;
  }
  std::uint64_t submit(detail::Submission& /*submission*/) override { return 0; }
  detail::Route inspect(const detail::Submission& /*submission*/) override { return {}; }
  std::uint64_t submit_block(detail::ProgramRun& /*run*/) override { return 0; }
  void wait_for_var(detail::VarState* /*var*/, bool /*reads_too*/) override {}
  void wait_for_all() override {}
  std::uint64_t version(detail::VarState* /*var*/) const override { return 0; }
  std::string describe_writer(detail::VarState* /*var*/) const override { return {}; }
  ShutdownReport shutdown(ShutdownMode /*mode*/, std::chrono::milliseconds /*deadline*/) override {
    return {};
  }
  bool stop_requested() const override { return false; }
  std::vector<OpRecord> trace() const override { return {}; }
  void report(detail::FailurePtr /*failure*/) noexcept override { ++reports; }
  bool close() override { return true; }
  void finish_at_exit(std::chrono::milliseconds /*limit*/) override {}

  int reports = 0;
};

}  // namespace heddle::relacy
