#include "kvstore/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "heddle/engine.h"

#include "engine/device/backend.h"
#include "engine/recorder.h"
#include "kvstore/sum.h"
#include "kvstore/transfer.h"
#include "ndarray/array_access.h"
#include "ndarray/storage.h"
#include "ops/invoke.h"
#include "ops/optimizer.h"

namespace heddle::kvstore {

namespace {

constexpr const char* kName = "kvstore.update";

ops::StepRule rule_of(const Optimizer& optimizer) {
  if (std::holds_alternative<Adam>(optimizer)) return ops::StepRule::kAdam;
  return std::get<Sgd>(optimizer).momentum == 0 ? ops::StepRule::kSgd : ops::StepRule::kMomentum;
}

ops::StepOptions options_of(const Sgd& sgd, std::uint64_t /*number*/) {
  return {.lr = sgd.lr, .momentum = sgd.momentum, .wd = sgd.weight_decay};
}
ops::StepOptions options_of(const Adam& adam, std::uint64_t number) {
  return ops::adam_step(adam.lr, adam.beta1, adam.beta2, adam.epsilon, adam.weight_decay,
                        static_cast<std::int64_t>(number));
}

std::byte* address(const NDArray& array) {
  return static_cast<std::byte*>(ArrayAccess::address(array));
}

/// The operation.
class Update {
 public:
  Update(const Optimizer& optimizer, std::vector<NDArray> gradients, const NDArray& weight,
         const std::vector<NDArray>& state, std::vector<SpareRange> copies)
      : optimizer_(optimizer),
        kernel_(ops::step_kernel(kName, rule_of(optimizer), weight.device(), weight.dtype())),
        gradients_(std::move(gradients)),
        weight_(weight),
        state_(state),
        copies_(std::move(copies)) {}

  /// Update `number` of the weight, from 1.
  void operator()(std::uint64_t number) const {
    const std::vector<const std::byte*> gradients = addresses_of(gradients_);
    std::vector<std::byte*> copies;
    copies.reserve(copies_.size());
    for (const SpareRange& copy : copies_) copies.push_back(copy.block->open() + copy.begin);
    ops::StepArrays arrays{.gradients = gradients,
                           .weight = address(weight_),
                           .copies = copies,
                           .count = weight_.size()};
    std::transform(state_.begin(), state_.end(), arrays.state.begin(), address);
    kernel_(arrays,
            std::visit([number](const auto& o) { return options_of(o, number); }, optimizer_));
  }

 private:
  Optimizer optimizer_;
  ops::StepKernel kernel_;
  std::vector<NDArray> gradients_;
  NDArray weight_;
  std::vector<NDArray> state_;
  std::vector<SpareRange> copies_;
};

void check_range(const char* name, double value, bool in_range, const char* expected) {
  if (in_range) return;
  throw std::invalid_argument(std::string("[kvstore.set_optimizer] ") + name + " " +
                              std::to_string(value) + ": expected " + expected);
}

void check_common(double lr, double weight_decay) {
  check_range("lr", lr, std::isfinite(lr), "a finite number");
  check_range("weight_decay", weight_decay, std::isfinite(weight_decay), "a finite number");
}

void check(const Sgd& sgd) {
  check_common(sgd.lr, sgd.weight_decay);
  check_range("momentum", sgd.momentum, std::isfinite(sgd.momentum), "a finite number");
}

void check(const Adam& adam) {
  check_common(adam.lr, adam.weight_decay);
  check_range("beta1", adam.beta1, adam.beta1 >= 0 && adam.beta1 < 1, "0 <= beta1 < 1");
  check_range("beta2", adam.beta2, adam.beta2 >= 0 && adam.beta2 < 1, "0 <= beta2 < 1");
  check_range("epsilon", adam.epsilon, std::isfinite(adam.epsilon) && adam.epsilon >= 0,
              "a finite number that is not negative");
}

std::size_t state_count(const Optimizer& optimizer) {
  const Sgd* sgd = std::get_if<Sgd>(&optimizer);
  if (sgd == nullptr) return 2;
  return sgd->momentum == 0 ? 0 : 1;
}

/// One pass over what an Update touches.
ops::Work work_of(const Optimizer& optimizer, std::span<const NDArray> gradients,
                  const NDArray& weight, std::size_t copies) {
  const auto count = static_cast<double>(weight.size());
  const auto sums = static_cast<double>(gradients.size() - 1);
  ops::Work work = ops::step_work(rule_of(optimizer), weight);
  work.flops += sums * count;
  work.bytes += (gradients.size() - 1 + copies) * bytes_of(weight);
  return work;
}

}  // namespace

void check_optimizer(const Optimizer& optimizer) {
  std::visit([](const auto& o) { check(o); }, optimizer);
}

std::vector<NDArray> make_state(const Optimizer& optimizer, const NDArray& weight) {
  std::vector<NDArray> state(state_count(optimizer));
  for (NDArray& array : state) {
    array = NDArray::zeros(weight.shape(), weight.device(), weight.dtype());
  }
  return state;
}

void push_update(const Optimizer& optimizer, UpdateCounter steps, std::vector<NDArray> gradients,
                 const NDArray& weight, const std::vector<NDArray>& state,
                 std::vector<SpareRange> copies, int priority) {
  const bool on_host = device::backend_of(weight.device()).runs_cpu_kernels();
  if (!on_host && gradients.size() > 1) {
    // There are no blocks in cache to sum and use at once: the sum is an array, for two kernels.
    const NDArray total(weight.shape(), weight.device(), weight.dtype());
    push_sum(std::move(gradients), total, priority);
    gradients = {total};
  }
  std::vector<Var> reads = vars_of(gradients);
  for (const SpareRange& copy : copies) reads.push_back(copy.block->var());
  const bool brief = are_brief(gradients, weight);
  const ops::Work work = work_of(optimizer, gradients, weight, copies.size());
  std::vector<Var> mutates = {weight.var()};
  for (const NDArray& array : state) mutates.push_back(array.var());
  detail::push_reserving(
      Engine::get(),
      [steps = std::move(steps)] { return detail::Reserved{steps->fetch_add(1) + 1}; },
      [update = Update(optimizer, std::move(gradients), weight, state, std::move(copies))](
          const detail::Reserved& reserved) { update(reserved[0]); },
      reads, mutates,
      {.device = weight.device(),
       .lane = sum_lane(weight.device()),
       .priority = priority,
       .name = kName,
       .brief = brief,
       .flops = work.flops,
       .bytes = work.bytes,
       .capturable = true});
}

}  // namespace heddle::kvstore
