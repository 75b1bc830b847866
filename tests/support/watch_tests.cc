#include <catch2/catch.hpp>

#include "tests/support/watchdog.h"

namespace {

/// Watches every test case of the program that this file is linked into; each section and each
/// generated value gets its own 60 s.
class Watch : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    TestEventListenerBase::testCaseStarting(info);
    name_ = info.name;
    heddle::support::watchdog::start(name_);
  }
  void sectionStarting(const Catch::SectionInfo& info) override {
    TestEventListenerBase::sectionStarting(info);
    heddle::support::watchdog::start(name_ + ": " + info.name);
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    TestEventListenerBase::testCaseEnded(stats);
    heddle::support::watchdog::stop();
  }

 private:
  std::string name_;
};

CATCH_REGISTER_LISTENER(Watch)

}  // namespace
