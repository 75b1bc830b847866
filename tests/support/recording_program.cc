#include "tests/support/recording_program.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "heddle/engine.h"

#include "engine/base/thread.h"
#include "tests/support/random_program.h"

namespace heddle::support {
namespace {

struct Operation {
  std::uint64_t number = 0;
  std::vector<std::size_t> reads;
  std::vector<std::size_t> mutates;
  PushOptions options;
  bool fails = false;
  bool is_async = false;
};
using Script = std::vector<Operation>;

/// Runs nothing and touches no variable: stands for an operation that runs a recording.
const Operation kRunner;

class Generator {
 public:
  Generator(const RecordingShape& shape, std::uint64_t stream)
      : shape_(shape), random_(shape.seed * 1000 + stream), next_number_(stream << 32U) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }

  Operation operation() {
    Operation result;
    result.number = ++next_number_;
    for (int i = below(4); i > 0; --i) result.reads.push_back(variable());
    for (int i = below(3); i > 0; --i) result.mutates.push_back(variable());
    result.fails = below(30) == 0;
    result.is_async = below(10) == 0;
    result.options.overwrites = below(4) == 0;
    result.options.priority = below(5) - 2;
    result.options.capturable = below(4) != 0;
    if (below(4) == 0) result.options.lane = Lane::kCopyIn;
    const int device = below(shape_.gpus + 1);
    if (device != 0) result.options.device = Device::gpu(device - 1);
    return result;
  }

  Script script() {
    Script result;
    const int length = below(10) == 0 ? 200 : 1 + below(20);
    const int alike = below(3);  // an engine may treat what is in another way
    const int priority = below(5) - 2;
    for (int i = 0; i < length; ++i) {
      Operation next = operation();
      if (alike != 0) {
        next.is_async = false;
        next.options.priority = priority;
      }
      if (alike == 2) {
        next.options = {.priority = priority, .overwrites = next.options.overwrites};
      }
      result.push_back(std::move(next));
    }
    return result;
  }

 private:
  std::size_t variable() { return static_cast<std::size_t>(below(shape_.variables)); }

  const RecordingShape& shape_;
  std::mt19937_64 random_;
  std::uint64_t next_number_;
};

/// An engine with variables, and the values that they stand for.
class World {
 public:
  World(const EngineOptions& options, int variables)
      : engine_(options), values_(static_cast<std::size_t>(variables)) {
    for (std::size_t i = 0; i < values_.size(); ++i) variables_.push_back(engine_.new_variable());
  }

  Engine& engine() { return engine_; }

  std::uint64_t push(const Operation& operation) {
    std::vector<Var> reads;
    std::vector<Var> mutates;
    for (const std::size_t i : operation.reads) reads.push_back(variables_[i]);
    for (const std::size_t i : operation.mutates) mutates.push_back(variables_[i]);
    if (!operation.is_async) {
      return engine_.push([this, &operation] { apply(operation); }, reads, mutates,
                          operation.options);
    }
    const auto fn = [this, &operation](RunContext&, Completion completion) {
      apply(operation);
      completion.done();
    };
    return engine_.push_async(fn, reads, mutates, operation.options);
  }

  Recording record(const Script& script) {
    return engine_.record([&] {
      for (const Operation& operation : script) push(operation);
    });
  }

  void wait_for_var(std::size_t i) {
    try {
      engine_.wait_for_var(variables_[i]);
    } catch (const OpError&) {
    }
  }

  void wait_for_all() {
    try {
      engine_.wait_for_all();
    } catch (const AggregateError&) {
    }
  }

  /// Once everything has ended.
  std::string describe(std::size_t i) {
    std::uint64_t root = 0;
    try {
      engine_.wait_for_var(variables_[i]);
    } catch (const OpError& error) {
      root = error.sequence();
    }
    // What a failed operation leaves behind is unspecified.
    const std::uint64_t value = root == 0 ? values_[i] : 0;
    return "value " + std::to_string(value) + ", version " +
           std::to_string(engine_.version(variables_[i])) + ", root " + std::to_string(root);
  }

 private:
  void apply(const Operation& operation) {
    if (operation.fails) throw Error("planned");
    std::uint64_t h = operation.number;
    for (const std::size_t i : operation.reads) {
      if (!heals(operation, i)) h = mix(h, values_[i]);
    }
    for (const std::size_t i : operation.mutates) {
      values_[i] = operation.options.overwrites ? h : mix(values_[i], h);
    }
  }

  /// It runs although the variable is poisoned, and what that stands for then is unspecified.
  static bool heals(const Operation& operation, std::size_t variable) {
    const std::vector<std::size_t>& mutates = operation.mutates;
    return operation.options.overwrites &&
           std::find(mutates.begin(), mutates.end(), variable) != mutates.end();
  }

  Engine engine_;
  std::vector<Var> variables_;
  std::vector<std::uint64_t> values_;
};

/// Which operation has which sequence number. Thread safety: add() from any thread.
class History {
 public:
  void add(std::uint64_t sequence, const Operation& operation) {
    const std::lock_guard lock(mutex_);
    pushed_.emplace(sequence, &operation);
  }
  void add_run(std::uint64_t first, const Script& script) {
    for (const Operation& operation : script) add(first++, operation);
  }
  const std::map<std::uint64_t, const Operation*>& pushed() const { return pushed_; }

 private:
  base::Mutex mutex_;
  std::map<std::uint64_t, const Operation*> pushed_;
};

/// Scripts and their recordings in one world.
struct Recorded {
  Recorded(World& world, Generator& generator, int count) {
    scripts.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      scripts.push_back(generator.script());
      recordings.push_back(world.record(scripts.back()));
    }
  }
  std::vector<Script> scripts;
  std::vector<Recording> recordings;
};

/// What one thread does.
void run_thread(World& world, History& history, Generator& generator, const Recorded& mine,
                const Recorded& common, std::vector<Operation>& singles, int steps) {
  singles.reserve(static_cast<std::size_t>(steps));
  for (int step = 0; step < steps; ++step) {
    const Recorded& from = generator.below(3) == 0 ? common : mine;
    const auto which =
        static_cast<std::size_t>(generator.below(static_cast<int>(from.scripts.size())));
    const Script& script = from.scripts[which];
    const Recording& recording = from.recordings[which];
    switch (generator.below(8)) {
      case 0:
        world.wait_for_var(0);
        break;
      case 1:
        history.add(world.engine().push([&history, &script,
                                         &recording] { history.add_run(recording.run(), script); },
                                        {}, {}),
                    kRunner);
        break;
      case 2:
      case 3:
      case 4:
        singles.push_back(generator.operation());
        history.add(world.push(singles.back()), singles.back());
        break;
      default:
        history.add_run(recording.run(), script);
        break;
    }
  }
}

std::string compare(const RecordingShape& shape, World& world, const History& history) {
  World naive({.kind = EngineKind::kNaive}, shape.variables);
  std::uint64_t expected = 0;
  for (const auto& [sequence, operation] : history.pushed()) {
    if (sequence != ++expected) return "no operation has number " + std::to_string(expected);
    if (naive.push(*operation) != sequence) return "kNaive numbers otherwise";
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.variables); ++i) {
    const std::string is = world.describe(i);
    const std::string should_be = naive.describe(i);
    if (is != should_be) {
      return "seed " + std::to_string(shape.seed) + ", variable " + std::to_string(i) + ": " + is +
             "; on kNaive: " + should_be;
    }
  }
  return {};
}

}  // namespace

std::string check_recordings(const RecordingShape& shape, const EngineOptions& options) {
  constexpr int kScripts = 3;
  World world(options, shape.variables);
  History history;
  Generator of_common(shape, 1);
  const Recorded common(world, of_common, kScripts);
  const auto threads = static_cast<std::size_t>(shape.threads);
  std::vector<std::vector<Operation>> singles(threads);
  std::vector<Recorded> recorded;
  recorded.reserve(threads);
  std::vector<Generator> generators;
  for (std::size_t t = 0; t < threads; ++t) {
    generators.emplace_back(shape, t + 2);
    recorded.emplace_back(world, generators.back(), kScripts);
  }
  std::vector<base::Thread> others;
  for (std::size_t t = 0; t < threads; ++t) {
    others.push_back(base::start_thread("pusher", [&, t] {
      run_thread(world, history, generators[t], recorded[t], common, singles[t],
                 shape.steps_per_thread);
    }));
  }
  for (base::Thread& other : others) other.join();
  world.wait_for_all();
  return compare(shape, world, history);
}

}  // namespace heddle::support
