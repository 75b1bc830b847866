// A chain of kernels that do nothing, each an operation on one variable, and the bare loop that
// launches them. What the engine itself takes shows where the operations launch nothing. Each of
// them has a place in the order of a stream all the same, which is an event that is recorded: how
// long that takes by hand is said beside it.

#include <heddle/cuda.h>
#include <heddle/heddle.h>

#include "gpu/by_hand/cuda_kernels.h"
#include "gpu/questions.h"
#include "gpu/ticks.h"

namespace bench::gpu {
namespace {

using heddle::RunContext;

class Chain {
 public:
  explicit Chain(int length) : length_(length) {}

  // Each returns us per operation.

  double on_heddle(Ticks ticks) {
    const double us = microseconds([&] {
      for (int i = 0; i < length_; ++i) {
        engine_.push(
            [counter = counter_of(ticks, i, length_, counters_.at(0))](const RunContext& context) {
              by_hand::launch_tick(heddle::cuda_stream(context), counter);
            },
            {}, {x_}, options_);
      }
      engine_.wait_for_var(x_);
    });
    expect_ticks(counters_, ticks, length_, 1, kHeddle);
    return us / length_;
  }

  double in_loop(Ticks ticks) {
    const double us = microseconds([&] {
      for (int i = 0; i < length_; ++i) {
        by_hand::launch_tick(stream_.handle(), counter_of(ticks, i, length_, counters_.at(0)));
      }
      stream_.synchronize();
    });
    expect_ticks(counters_, ticks, length_, 1, kByHand);
    return us / length_;
  }

  double engine_alone() {
    int ran = 0;
    const double us = microseconds([&] {
      for (int i = 0; i < length_; ++i) engine_.push([&ran] { ++ran; }, {}, {x_}, options_);
      engine_.wait_for_var(x_);
    });
    expect(ran == length_, kHeddle, "not all operations ran");
    return us / length_;
  }

  double events_alone() {
    const double us = microseconds([&] {
      for (int i = 0; i < length_; ++i) events_.record(stream_);
      stream_.synchronize();
    });
    return us / length_;
  }

 private:
  const int length_;
  heddle::Engine& engine_ = heddle::Engine::get();
  const heddle::Var x_ = engine_.new_variable("chain");
  const heddle::PushOptions options_{.device = heddle::Device::gpu(0), .name = "tick"};
  by_hand::Counters counters_{1};
  by_hand::Stream stream_;
  by_hand::Events events_;
};

}  // namespace

void chain(const Settings& settings, Sheet& sheet) {
  constexpr const char* kMetric = "us per operation";
  Chain chain(settings.quick ? 1000 : 20000);
  chain.on_heddle(Ticks::kEach);
  chain.in_loop(Ticks::kEach);
  const std::vector<Row> kernels = race("chain of empty kernels", kMetric,
                                        {{kHeddle, [&] { return chain.on_heddle(Ticks::kLast); }},
                                         {kByHand, [&] { return chain.in_loop(Ticks::kLast); }}},
                                        settings.runs);
  sheet.add(kernels[0], at_most(3.5));
  sheet.add(kernels[1]);
  sheet.add(ratio(kernels[0], kernels[1], "over by hand"), at_most(1.3));
  const std::vector<Row> alone = race("chain that launches nothing", kMetric,
                                      {{kHeddle, [&] { return chain.engine_alone(); }},
                                       {"events by hand", [&] { return chain.events_alone(); }}},
                                      settings.runs);
  sheet.add(alone[0], at_most(0.5));
  sheet.add(alone[1]);
}

}  // namespace bench::gpu
