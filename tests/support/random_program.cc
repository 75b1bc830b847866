#include "tests/support/random_program.h"

#include <algorithm>
#include <sstream>

namespace heddle::support {
namespace {

/// SplitMix64: the same numbers on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15U, 0); }
  int below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }
  bool one_in(int n) { return below(n) == 0; }
  bool percent(int share) { return below(100) < share; }

 private:
  std::uint64_t state_;
};

class Generator {
 public:
  explicit Generator(const ProgramShape& shape)
      : shape_(shape), random_(mix(shape.seed, static_cast<std::uint64_t>(shape.variables))) {}

  Program run() {
    program_.shape = shape_;
    for (int thread = 0; thread < shape_.threads; ++thread) {
      std::vector<Step>& steps = program_.threads.emplace_back();
      for (int i = 0; i < shape_.steps_per_thread; ++i) steps.push_back(step());
    }
    return std::move(program_);
  }

 private:
  Step step() {
    const int variable = random_.below(shape_.variables);
    if (shape_.waits && random_.one_in(100)) {
      if (random_.one_in(8)) return {Step::Kind::kWaitForAll, 0};
      return {random_.one_in(3) ? Step::Kind::kWaitForUnused : Step::Kind::kWaitForVar, variable};
    }
    if (shape_.errors && random_.one_in(80)) return {Step::Kind::kClear, variable};
    if (program_.groups != 0 && random_.one_in(60)) return {Step::Kind::kCancel, cancel()};
    if (shape_.deletions && deleted_ < (shape_.variables + 3) / 4 && random_.one_in(200)) {
      ++deleted_;
      return {Step::Kind::kDelete, variable};
    }
    return {Step::Kind::kPush, operation(/*depth=*/0)};
  }

  int operation(int depth) {
    RandomOperation operation;
    operation.read_count = static_cast<std::uint8_t>(random_.below(5));
    operation.mutate_count = static_cast<std::uint8_t>(random_.below(4));
    for (std::uint16_t& index : operation.reads_) index = variable();
    for (std::uint16_t& index : operation.mutates_) index = variable();
    place(operation);
    operation.priority = static_cast<std::int8_t>(random_.below(5) - 2);
    operation.try_first = random_.percent(5);
    operation.ending = ending();
    operation.overwrites = shape_.errors && random_.percent(20);
    if (shape_.cancels && shape_.errors && random_.percent(12)) operation.group = group();
    if (shape_.children && depth < 3 && random_.percent(3)) {
      operation.child = this->operation(depth + 1);
    }
    program_.operations.push_back(operation);
    return static_cast<int>(program_.operations.size()) - 1;
  }

  std::uint16_t variable() { return static_cast<std::uint16_t>(random_.below(shape_.variables)); }

  /// Of the last few ones, which are not cancelled yet, or any, as what is cancelled does not run.
  int group() {
    if (random_.one_in(8) && program_.groups != 0) return random_.below(program_.groups);
    const int group = first_group_ + random_.below(kLiveGroups);
    program_.groups = std::max(program_.groups, group + 1);
    return group;
  }

  int cancel() {
    if (random_.one_in(8)) return random_.below(program_.groups);  // maybe for the second time
    program_.groups = std::max(program_.groups, first_group_ + 1);
    return first_group_++;
  }

  void place(RandomOperation& operation) {
    constexpr std::array kLanes = {Lane::kCopyIn, Lane::kCopyOut, Lane::kComm, Lane::kBlocking};
    const bool on_gpu = shape_.gpus > 0 && random_.percent(70);
    if (on_gpu) {
      operation.device = Device::gpu(random_.below(shape_.gpus));
    } else if (random_.percent(10)) {
      operation.device = random_.one_in(2) ? Device::cpu(1) : Device::cpu_pinned();
    }
    if (random_.percent(on_gpu ? 50 : 20)) {
      operation.lane = kLanes[static_cast<std::size_t>(random_.below(kLanes.size()))];
    }
  }

  Ending ending() {
    if (random_.percent(8)) return random_.one_in(3) ? Ending::kDone : Ending::kDoneElsewhere;
    if (!shape_.errors || !random_.percent(2)) return Ending::kReturn;
    constexpr std::array kFailures = {Ending::kThrow, Ending::kThrow, Ending::kThrowNumber,
                                      Ending::kFailElsewhere, Ending::kDrop};
    return kFailures[static_cast<std::size_t>(random_.below(kFailures.size()))];
  }

  static constexpr int kLiveGroups = 3;

  const ProgramShape shape_;
  Random random_;
  Program program_;
  int deleted_ = 0;
  int first_group_ = 0;  ///< that is not cancelled
};

}  // namespace

std::string ProgramShape::str() const {
  std::ostringstream out;
  out << "seed " << seed << ", " << variables << " variables, " << threads << " threads x "
      << steps_per_thread << " steps, " << gpus << " GPUs" << (errors ? ", errors" : "")
      << (children ? ", children" : "") << (deletions ? ", deletions" : "")
      << (waits ? ", waits" : "") << (cancels ? ", cancels" : "");
  return out.str();
}

bool is_async(Ending ending) {
  return ending != Ending::kReturn && ending != Ending::kThrow && ending != Ending::kThrowNumber;
}

bool fails(Ending ending) {
  return ending != Ending::kReturn && ending != Ending::kDone && ending != Ending::kDoneElsewhere;
}

Program generate(const ProgramShape& shape) { return Generator(shape).run(); }

std::uint64_t initial_value(std::size_t index) { return mix(index, 0x68656464); }

std::vector<std::uint16_t> distinct_mutates(const RandomOperation& operation) {
  std::vector<std::uint16_t> result(operation.mutates().begin(), operation.mutates().end());
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<std::uint16_t> distinct_reads(const RandomOperation& operation) {
  const auto mutated = operation.mutates();
  std::vector<std::uint16_t> result;
  for (const std::uint16_t index : operation.reads()) {
    const bool known = std::find(result.begin(), result.end(), index) != result.end() ||
                       std::find(mutated.begin(), mutated.end(), index) != mutated.end();
    if (!known) result.push_back(index);
  }
  return result;
}

}  // namespace heddle::support
