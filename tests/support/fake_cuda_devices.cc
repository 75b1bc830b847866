#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include "heddle/options.h"

namespace {

/// Gives the program that this file is linked into three logical GPUs, two of which share one.
class FakeCudaDevices : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    TestEventListenerBase::testRunStarting(info);
    heddle::RuntimeOptions options;
    options.gpus = "cuda:0,cuda:0,cuda:1";
    heddle::configure(options);
  }
};

CATCH_REGISTER_LISTENER(FakeCudaDevices)

}  // namespace
