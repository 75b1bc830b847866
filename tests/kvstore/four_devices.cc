#include <catch2/catch.hpp>

#include "heddle/options.h"

namespace {

/// Gives the program that this file is linked into four simulated GPUs, one worker, so that
/// independent operations run in an exact order, and a trace that shows it.
class FourDevices : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    TestEventListenerBase::testRunStarting(info);
    heddle::RuntimeOptions options;
    options.gpus = "sim:4";
    options.engine.cpu_workers = 1;
    options.engine.trace = true;
    heddle::configure(options);
  }
};

CATCH_REGISTER_LISTENER(FourDevices)

}  // namespace
