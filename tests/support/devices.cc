#include <cstdio>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "heddle/device.h"
#include "heddle/options.h"

namespace {

constexpr const char* kGpus = HEDDLE_TEST_GPUS;
#if defined(HEDDLE_TEST_NEEDS_GPU)
constexpr bool kNeedsGpu = true;
#else
constexpr bool kNeedsGpu = false;
#endif

/// Gives the program that this file is linked into the logical GPUs that its build names, whatever
/// the environment says, or ends it with the code that ctest counts as skipped if it needs a real
/// one and there is none. The device table is one per process, so tests with other devices are a
/// program of their own.
class Devices : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    TestEventListenerBase::testRunStarting(info);
    if (kNeedsGpu && heddle::num_physical_gpus() == 0) {
      std::puts("skipped: there is no CUDA GPU");
      std::fflush(stdout);
      std::_Exit(77);
    }
    heddle::RuntimeOptions options;
    options.gpus = kGpus;
    heddle::configure(options);
  }
};

CATCH_REGISTER_LISTENER(Devices)

}  // namespace
