#include "contenders/contenders.h"
#include "contenders/timing.h"

namespace bench::engine {
namespace {

/// One thread calls one body after the other: nothing is held back, and there is no second thread.
class Serial final : public Contender {
 public:
  void prepare(const Program& program) override { program_ = &program; }

  Times run(const Body& body) override {
    return time_run(
        *program_, {}, [&](std::size_t i) { call(i, body); }, [] {});
  }

  std::vector<std::chrono::nanoseconds> round_trips(const Body& body,
                                                    const RoundTrips& trips) override {
    return time_round_trips(trips, [&] { call(0, body); });
  }

 private:
  static void call(std::size_t i, const Body& body) {
    body.run(i);
    asm volatile("" ::: "memory");  // the calls are made, also if they do nothing
  }

  const Program* program_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> make_serial(const Settings& /*settings*/) {
  return std::make_unique<Serial>();
}

}  // namespace bench::engine
