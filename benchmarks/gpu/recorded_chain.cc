// A chain of kernels that do nothing, recorded once and run again and again. heddle gives the GPU
// what can be captured as one graph, but calls the callables in each run, so that a kernel's
// arguments may differ: by hand that is to capture anew and to bring the graph up to date. A graph
// that is only launched again, and a bare loop, are the other two.

#include <heddle/cuda.h>
#include <heddle/heddle.h>

#include "gpu/by_hand/cuda_kernels.h"
#include "gpu/questions.h"
#include "gpu/ticks.h"

namespace bench::gpu {
namespace {

using heddle::Recording;
using heddle::RunContext;

class RecordedChain {
 public:
  explicit RecordedChain(int times) : times_(times) {}

  // Each runs the chain `times` times and returns us per kernel.

  double on_heddle(Ticks ticks, bool capturable) {
    const Recording& recording = recordings_[ticks == Ticks::kLast][capturable];
    return measure(ticks, capturable ? kHeddle : "heddle without graphs", [&] {
      for (int i = 0; i < times_; ++i) recording.run();
      engine_.wait_for_var(x_);
    });
  }

  double as_graph(Ticks ticks, bool anew) {
    by_hand::Graph& graph = ticks == Ticks::kEach ? each_ : last_;
    return measure(ticks, anew ? "graph, captured anew" : "graph by hand", [&] {
      for (int i = 0; i < times_; ++i) {
        if (anew) graph.update();
        graph.launch(stream_);
      }
      stream_.synchronize();
    });
  }

  double in_loop(Ticks ticks) {
    return measure(ticks, kByHand, [&] {
      for (int i = 0; i < times_; ++i) enqueue(stream_.handle(), ticks);
      stream_.synchronize();
    });
  }

 private:
  static constexpr int kLength = 100;

  void enqueue(cudaStream_t stream, Ticks ticks) const {
    for (int i = 0; i < kLength; ++i) {
      by_hand::launch_tick(stream, counter_of(ticks, i, kLength, counters_.at(0)));
    }
  }

  Recording record(Ticks ticks, bool capturable) {
    return engine_.record([&] {
      for (int i = 0; i < kLength; ++i) {
        engine_.push(
            [counter = counter_of(ticks, i, kLength, counters_.at(0))](const RunContext& context) {
              by_hand::launch_tick(heddle::cuda_stream(context), counter);
            },
            {}, {x_}, {.device = heddle::Device::gpu(0), .name = "tick", .capturable = capturable});
      }
    });
  }

  template <class Work>
  double measure(Ticks ticks, const char* contender, const Work& work) {
    const double us = microseconds(work);
    expect_ticks(counters_, ticks, kLength, times_, contender);
    return us / times_ / kLength;
  }

  const int times_;
  heddle::Engine& engine_ = heddle::Engine::get();
  const heddle::Var x_ = engine_.new_variable("recorded chain");
  by_hand::Counters counters_{1};
  by_hand::Stream stream_;
  by_hand::Graph each_{[this](cudaStream_t stream) { enqueue(stream, Ticks::kEach); }};
  by_hand::Graph last_{[this](cudaStream_t stream) { enqueue(stream, Ticks::kLast); }};
  // By whether only the last kernel ticks, and whether it may be captured.
  const Recording recordings_[2][2] = {
      {record(Ticks::kEach, false), record(Ticks::kEach, true)},
      {record(Ticks::kLast, false), record(Ticks::kLast, true)},
  };
};

}  // namespace

void recorded_chain(const Settings& settings, Sheet& sheet) {
  RecordedChain chain(settings.quick ? 5 : 200);
  const auto contenders = [&chain](Ticks ticks) -> std::vector<Contender> {
    return {
        {kHeddle, [&chain, ticks] { return chain.on_heddle(ticks, /*capturable=*/true); }},
        {"heddle without graphs", [&chain, ticks] { return chain.on_heddle(ticks, false); }},
        {"graph, captured anew", [&chain, ticks] { return chain.as_graph(ticks, /*anew=*/true); }},
        {"graph by hand", [&chain, ticks] { return chain.as_graph(ticks, false); }},
        {kByHand, [&chain, ticks] { return chain.in_loop(ticks); }},
    };
  };
  for (const Contender& contender : contenders(Ticks::kEach)) contender.measure();
  const std::vector<Row> rows = race("recorded chain of 100 kernels", "us per kernel",
                                     contenders(Ticks::kLast), settings.runs);
  for (const Row& row : rows) {
    sheet.add(row, row.contender == kHeddle ? std::optional(at_most(1.5)) : std::nullopt);
  }
  for (std::size_t other = 1; other < rows.size(); ++other) {
    sheet.add(ratio(rows[0], rows[other], "over " + rows[other].contender));
  }
}

}  // namespace bench::gpu
