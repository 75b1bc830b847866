#include <array>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>

#include <heddle/engine.h>

#include "contenders/contenders.h"
#include "contenders/gate.h"
#include "contenders/timing.h"

namespace bench::engine {
namespace {

/// The devices are those of the process, and are made before its first engine.
void make_devices() {
  static std::once_flag once;
  std::call_once(once, [] { ::heddle::configure({.gpus = "sim:" + std::to_string(kGpus)}); });
}

::heddle::Lane lane_of(const Operation& operation) {
  switch (operation.lane) {
    case Lane::kCompute:
      return ::heddle::Lane::kCompute;
    case Lane::kCopyIn:
      return ::heddle::Lane::kCopyIn;
    case Lane::kCopyOut:
      return ::heddle::Lane::kCopyOut;
    case Lane::kComm:
      return ::heddle::Lane::kComm;
  }
  return ::heddle::Lane::kCompute;
}

/// Beside the workers the lanes and the devices that a program uses have threads of their own.
class Heddle final : public Contender {
 public:
  explicit Heddle(const Settings& settings)
      : workers_(settings.workers),
        engine_({.cpu_workers = settings.workers, .max_pending = settings.max_pending}) {}

  bool can_run(const Program& /*program*/) const override { return true; }
  bool can_hold() const override { return true; }

  void prepare(const Program& program) override {
    program_ = &program;
    arguments_.clear();
    other_lanes_.clear();
    std::vector<::heddle::Var> variables;
    for (int i = 0; i < program.variables; ++i) variables.push_back(engine_.new_variable());
    for (const Operation& operation : program.operations) {
      Arguments& arguments = arguments_.emplace_back();
      for (const int v : operation.reads) {
        arguments.reads.push_back(variables[static_cast<std::size_t>(v)]);
      }
      for (const int v : operation.writes) {
        arguments.writes.push_back(variables[static_cast<std::size_t>(v)]);
      }
      arguments.options.lane = lane_of(operation);
      if (operation.device != kCpu) {
        arguments.options.device = ::heddle::Device::gpu(operation.device);
      } else if (operation.lane != Lane::kCompute) {
        other_lanes_.insert(arguments.options.lane);
      }
    }
  }

  Times run(const Body& body) override {
    return time_pushes(body, {}, [&] { engine_.wait_for_all(); });
  }

  Times run_held(const Body& body, const Moments& moments) override {
    Gate gate(workers_in_lanes());
    close(gate);
    return time_pushes(body, moments, [&] { open_and_wait(gate); });
  }

  bool can_repeat(Again /*how*/) const override { return true; }

  void keep(const Body& body) override { kept_ = record(body); }

  Times repeat(const Body& body, Again how, int times) override {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < times; ++i) {
      if (how == Again::kKept) {
        kept_.run();
      } else {
        push_all(body);
      }
    }
    const std::chrono::nanoseconds submit = Clock::now() - begin;
    engine_.wait_for_all();
    return {submit, Clock::now() - begin};
  }

  void repeat_held(const Body& body, const Moments& moments) override {
    const ::heddle::Recording recording = record(body);
    Gate gate(workers_in_lanes());
    close(gate);
    if (moments.before_pushes) moments.before_pushes();
    recording.run();
    if (moments.after_pushes) moments.after_pushes();
    open_and_wait(gate);
  }

  std::vector<std::chrono::nanoseconds> round_trips(const Body& body,
                                                    const RoundTrips& trips) override {
    return time_round_trips(trips, [&] {
      push<Call>(0, body);
      engine_.wait_for_var(arguments_[0].writes[0]);
    });
  }

 private:
  struct Arguments {
    std::vector<::heddle::Var> reads;
    std::vector<::heddle::Var> writes;
    ::heddle::PushOptions options;
  };

  struct Call {
    const Body* body;
    std::size_t operation;
    void operator()() const { body->run(operation); }
  };
  struct LargeCall {
    Call call;
    std::array<std::byte, 32> more{};
    void operator()() const { call(); }
  };
  static_assert(sizeof(Call) == 16 && sizeof(LargeCall) == 48);

  template <class Kind>
  void push(std::size_t i, const Body& body) {
    const Arguments& arguments = arguments_[i];
    engine_.push(Kind{Call{&body, i}}, arguments.reads, arguments.writes, arguments.options);
  }
  void push_all(const Body& body) {
    for (std::size_t i = 0; i < arguments_.size(); ++i) push<Call>(i, body);
  }
  template <class Wait>
  Times time_pushes(const Body& body, const Moments& moments, const Wait& wait) {
    const auto push_call = [&](std::size_t i) { push<Call>(i, body); };
    const auto push_large = [&](std::size_t i) { push<LargeCall>(i, body); };
    return program_->large_callables ? time_run(*program_, moments, push_large, wait)
                                     : time_run(*program_, moments, push_call, wait);
  }
  ::heddle::Recording record(const Body& body) {
    return engine_.record([&] { push_all(body); });
  }

  int workers_in_lanes() const { return workers_ + static_cast<int>(other_lanes_.size()); }
  void close(Gate& gate) {
    const auto block = [&gate] { gate.block(); };
    for (int i = 0; i < workers_; ++i) engine_.push(block, {}, {});
    for (const ::heddle::Lane lane : other_lanes_) engine_.push(block, {}, {}, {.lane = lane});
    gate.wait_for_workers();
  }
  void open_and_wait(Gate& gate) {
    gate.open();
    engine_.wait_for_all();
  }

  int workers_;
  ::heddle::Engine engine_;
  const Program* program_ = nullptr;
  std::vector<Arguments> arguments_;
  ::heddle::Recording kept_;
  std::set<::heddle::Lane> other_lanes_;  ///< of the CPU, in which the program runs something
};

}  // namespace

std::unique_ptr<Contender> make_heddle(const Settings& settings) {
  make_devices();
  return std::make_unique<Heddle>(settings);
}

}  // namespace bench::engine
