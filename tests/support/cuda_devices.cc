#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <cstdio>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "heddle/device.h"
#include "heddle/options.h"

namespace {

/// Gives the program that this file is linked into two logical GPUs on the first real one, or ends
/// it with the code that ctest counts as skipped if there is none.
class CudaDevices : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    TestEventListenerBase::testRunStarting(info);
    if (heddle::num_physical_gpus() == 0) {
      std::puts("skipped: there is no CUDA GPU");
      std::fflush(stdout);
      std::_Exit(77);
    }
    heddle::RuntimeOptions options;
    options.gpus = "cuda:0,cuda:0";
    heddle::configure(options);
  }
};

CATCH_REGISTER_LISTENER(CudaDevices)

}  // namespace
