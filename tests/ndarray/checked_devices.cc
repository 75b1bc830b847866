#include <catch2/catch.hpp>

#include "heddle/options.h"

namespace {

/// Gives the program that this file is linked into two simulated GPUs, and a default engine that
/// checks accesses.
class CheckedDevices : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    TestEventListenerBase::testRunStarting(info);
    heddle::RuntimeOptions options;
    options.gpus = "sim:2";
    options.engine.access_check = true;
    heddle::configure(options);
  }
};

CATCH_REGISTER_LISTENER(CheckedDevices)

}  // namespace
