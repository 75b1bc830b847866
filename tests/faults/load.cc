#include "tests/faults/load.h"

#include <new>
#include <stdexcept>
#include <utility>

namespace heddle::faults {
namespace {

constexpr int kVariables = 6;
constexpr const char* kLongName = "a name that is longer than what an operation has room for";

}  // namespace

/// The callable of an operation; with children it pushes those.
struct Load::Body {
  Load& load;
  int children = 0;
  bool throws = false;

  void operator()() const {
    for (int i = 0; i < children; ++i) {
      load.attempt([&] { load.engine_.push(Body{load, i, false}, {}, {}); });
    }
    if (throws) throw std::runtime_error("a failure of the load");
  }
};

Load::Load(Engine& engine, CancelToken group, int gpus)
    : engine_(engine), group_(std::move(group)) {
  for (int i = 0; i < gpus; ++i) gpus_.push_back(Device::gpu(i));
  for (int i = 0; i < kVariables; ++i) vars_.push_back(engine.new_variable());
}

/// Counts what came of a call that pushes so many operations, or none.
template <class Call>
void Load::attempt(Call&& call, std::uint64_t operations) {
  try {
    call();
    accepted_ += operations;
  } catch (const std::bad_alloc&) {
    ++without_memory_;
  } catch (const EngineStopped&) {
    ++stopped_;
  }
}

template <class Wait>
void Load::wait(Wait&& wait) {
  try {
    wait();
  } catch (const std::bad_alloc&) {
    ++without_memory_;
  } catch (const OpError&) {  // what failed is counted by the engine
  } catch (const AggregateError&) {
  } catch (const Cancelled&) {
  } catch (const EngineStopped&) {
  }
}

const Var& Load::any_var(Random& random) const {
  return vars_[static_cast<std::size_t>(random.below(kVariables))];
}

PushOptions Load::options(Random& random) const {
  constexpr Lane kLanes[] = {Lane::kCompute, Lane::kCompute, Lane::kCompute, Lane::kCopyIn,
                             Lane::kBlocking};
  PushOptions options;
  options.lane = kLanes[random.below(5)];
  if (!gpus_.empty() && random.one_in(3)) {
    options.device = gpus_[static_cast<std::size_t>(random.below(static_cast<int>(gpus_.size())))];
  }
  options.priority = random.one_in(4) ? random.below(3) - 1 : 0;
  if (random.one_in(8)) options.name = kLongName;
  options.overwrites = random.one_in(2);
  if (random.one_in(2)) options.cancel = group_;
  static constexpr CopyCost kCopies[] = {{.bytes = 1}, {.bytes = 2}};
  if (random.one_in(8)) options.copies = kCopies;
  return options;
}

void Load::push(Random& random) {
  const Body body{*this, random.one_in(6) ? random.below(4) : 0, random.one_in(8)};
  const PushOptions wishes = options(random);
  const Var& x = any_var(random);
  const Var& y = any_var(random);
  const int form = random.below(4);
  attempt([&] {
    if (form == 0) {
      engine_.push(body, {x}, {y}, wishes);
    } else if (form == 1) {
      engine_.push(body, vars_, {y}, wishes);  // more accesses than there is room for
    } else if (form == 2) {
      if (!engine_.try_push(body, {x}, {y}, wishes)) engine_.push(body, {x}, {y}, wishes);
    } else {
      const char big[200] = {};  // does not fit into the operation
      engine_.push([body, big] { static_cast<void>(big), body(); }, {}, {y}, wishes);
    }
  });
}

void Load::push_async(Random& random) {
  const int ending = random.below(5);
  const PushOptions wishes = options(random);
  attempt([&] {
    engine_.push_async(
        [this, ending](RunContext&, Completion completion) {
          if (ending == 0) return completion.done();
          if (ending == 1) return completion.fail(nullptr);
          if (ending == 2) throw std::runtime_error("a failure of the load");
          if (ending == 3) return;
          foreign_.post([completion = std::move(completion)]() mutable { completion.done(); });
        },
        {any_var(random)}, {any_var(random)}, wishes);
  });
}

void Load::push_and_delete(Random& random) {
  Var var;
  wait([&] { var = engine_.new_variable(); });
  if (!var) return;
  attempt([&] { engine_.push(Body{*this, 0, random.one_in(2)}, {}, {var}); });
  attempt([&] {
    engine_.delete_variable(var, [] {}, {.brief = random.one_in(2)});
    ++deletions_;
  });
}

void Load::record_and_run(Random& random) {
  const bool is_plain = random.one_in(2);  // then what depends on what is found out once
  const int operations = 3 + random.below(8);
  Recording recording;
  wait([&] {
    recording = engine_.record([&] {
      for (int i = 0; i < operations; ++i) {
        const Body body{*this, random.one_in(6) ? random.below(4) : 0, random.one_in(8)};
        const PushOptions wishes = is_plain ? PushOptions{} : options(random);
        engine_.push(body, {vars_[0]}, {vars_[random.one_in(2) ? 1 : 2]}, wishes);
      }
    });
  });
  if (recording.size() == 0) return;
  for (int runs = 1 + random.below(3); runs > 0; --runs) {
    attempt([&] { recording.run(); }, static_cast<std::uint64_t>(operations));
  }
}

void Load::step(Random& random) {
  switch (random.below(13)) {
    case 0:
      return attempt([&] { engine_.clear_error(any_var(random)); });
    case 1:
      return push_and_delete(random);
    case 2:
      if (random.one_in(4)) wait([&] { engine_.wait_for_all(); });
      return;
    case 3:
      return wait([&] { engine_.wait_for_var(any_var(random)); });
    case 4:
      return wait([&] { engine_.wait_for_var_unused(any_var(random)); });
    case 5:
    case 6:
      return push_async(random);
    case 7:
      return record_and_run(random);
    default:
      return push(random);
  }
}

std::uint64_t total(const ShutdownReport& report) {
  return report.completed + report.failed + report.cancelled + report.abandoned;
}

}  // namespace heddle::faults
