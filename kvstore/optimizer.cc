#include "kvstore/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
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
#include "ops/optimizer.h"

namespace heddle::kvstore {

namespace {

constexpr const char* kName = "kvstore.update";

/// Bytes of gradients that are summed before the weights that they belong to are updated.
constexpr std::size_t kBlockBytes = 8192;

/// The step of an optimizer for the elements of one type.
class Step {
 public:
  Step(const Optimizer& optimizer, Device device, DType dtype) : optimizer_(optimizer) {
    std::visit([&](const auto& o) { pick(o, device, dtype); }, optimizer);
  }

  /// Of update `number` of the weight, from 1.
  ops::StepOptions options(std::uint64_t number) const {
    return std::visit([number](const auto& o) { return options_of(o, number); }, optimizer_);
  }

  void apply(const ops::StepOptions& options, std::byte* weight, const std::byte* gradient,
             std::byte* const* state, std::int64_t count) const {
    if (const auto* sgd = std::get_if<ops::SgdKernel>(&kernel_)) {
      (*sgd)(weight, gradient, count, options);
    } else if (const auto* momentum = std::get_if<ops::MomentumKernel>(&kernel_)) {
      (*momentum)(weight, gradient, state[0], count, options);
    } else {
      std::get<ops::AdamKernel>(kernel_)(weight, gradient, state[0], state[1], count, options);
    }
  }

 private:
  void pick(const Sgd& sgd, Device device, DType dtype) {
    if (sgd.momentum == 0) {
      kernel_ = ops::sgd_kernel(kName, device, dtype);
    } else {
      kernel_ = ops::momentum_kernel(kName, device, dtype);
    }
  }
  void pick(const Adam&, Device device, DType dtype) {
    kernel_ = ops::adam_kernel(kName, device, dtype);
  }

  static ops::StepOptions options_of(const Sgd& sgd, std::uint64_t) {
    return {.lr = sgd.lr, .momentum = sgd.momentum, .wd = sgd.weight_decay};
  }
  static ops::StepOptions options_of(const Adam& adam, std::uint64_t number) {
    return ops::adam_step(adam.lr, adam.beta1, adam.beta2, adam.epsilon, adam.weight_decay,
                          static_cast<std::int64_t>(number));
  }

  Optimizer optimizer_;
  std::variant<ops::SgdKernel, ops::MomentumKernel, ops::AdamKernel> kernel_;
};

std::byte* address(const NDArray& array) {
  return static_cast<std::byte*>(ArrayAccess::address(array));
}

/// The operation: gradients are summed block by block, so that a sum is used while it is in cache.
class Update {
 public:
  Update(const Step& step, std::vector<NDArray> gradients, const NDArray& weight,
         const std::vector<NDArray>& state, std::vector<SpareRange> copies)
      : step_(step),
        sum_(sum_kernel(weight.device(), weight.dtype())),
        gradients_(std::move(gradients)),
        weight_(weight),
        state_(state),
        copies_(std::move(copies)) {}

  void operator()(std::uint64_t number) const {
    const ops::StepOptions options = step_.options(number);
    std::vector<const std::byte*> gradients = addresses_of(gradients_);
    std::byte* weight = address(weight_);
    std::byte* state[2] = {};
    for (std::size_t i = 0; i < state_.size(); ++i) state[i] = address(state_[i]);
    std::vector<std::byte*> copies;
    copies.reserve(copies_.size());
    for (const SpareRange& copy : copies_) copies.push_back(copy.block->open() + copy.begin);
    if (gradients.size() == 1 && copies.empty()) {
      return step_.apply(options, weight, gradients[0], state, weight_.size());
    }

    alignas(64) std::byte total[kBlockBytes];
    const std::size_t width = dtype_size(weight_.dtype());
    std::size_t left = static_cast<std::size_t>(weight_.size()) * width;
    while (left > 0) {
      const std::size_t bytes = std::min(left, kBlockBytes);
      const auto count = static_cast<std::int64_t>(bytes / width);
      if (gradients.size() > 1) sum_(gradients, total, count);
      step_.apply(options, weight, gradients.size() > 1 ? total : gradients[0], state, count);
      for (std::byte*& copy : copies) {
        std::memcpy(copy, weight, bytes);
        copy += bytes;
      }
      for (const std::byte*& gradient : gradients) gradient += bytes;
      weight += bytes;
      for (std::size_t i = 0; i < state_.size(); ++i) state[i] += bytes;
      left -= bytes;
    }
  }

 private:
  Step step_;
  SumKernel sum_;
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
  std::vector<Var> mutates = {weight.var()};
  for (const NDArray& array : state) mutates.push_back(array.var());
  detail::push_reserving(
      Engine::get(),
      [steps = std::move(steps)] { return detail::Reserved{steps->fetch_add(1) + 1}; },
      [update = Update(Step(optimizer, weight.device(), weight.dtype()), std::move(gradients),
                       weight, state, std::move(copies))](const detail::Reserved& reserved) {
        update(reserved[0]);
      },
      reads, mutates,
      {.device = weight.device(),
       .lane = sum_lane(weight.device()),
       .priority = priority,
       .name = kName,
       .brief = brief});
}

}  // namespace heddle::kvstore
