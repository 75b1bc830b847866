#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include "heddle/options.h"

namespace {

/// Gives the program that this file is linked into two simulated GPUs, whatever the environment
/// says. The device table is one per process, so such tests are a program of their own.
class SimDevices : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    TestEventListenerBase::testRunStarting(info);
    heddle::RuntimeOptions options;
    options.gpus = "sim:2";
    heddle::configure(options);
  }
};

CATCH_REGISTER_LISTENER(SimDevices)

}  // namespace
