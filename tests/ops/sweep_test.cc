#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "ops/op.h"
#include "tests/ops/arrays.h"
#include "tests/ops/sweep_cases.h"

namespace heddle {

using support::close;
using support::sweep_cases;
using support::SweepCase;
using support::Values;
using support::values;

namespace {

std::vector<NDArray> run_on(const SweepCase& operation, Device device) {
  std::vector<NDArray> inputs;
  for (const NDArray& input : operation.inputs) inputs.push_back(input.to(device));
  return operation.run(inputs);
}

/// The results one after the other, widened without loss.
Values joined(const std::vector<NDArray>& results) {
  Values all;
  for (const NDArray& result : results) {
    const Values some = values(result);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

TEST_CASE("every operator of the table is swept") {
  std::set<std::string> swept;
  for (const SweepCase& operation : sweep_cases()) swept.insert(operation.name);
  for (const ops::OpInfo& row : ops::all_ops()) {
    CAPTURE(row.name);
    CHECK(swept.count(std::string(row.name)) == 1);
  }
  CHECK(swept.size() == ops::all_ops().size());
}

TEST_CASE("every operator agrees with plain loops over double") {
  for (const SweepCase& operation : sweep_cases()) {
    CAPTURE(operation.name);
    std::vector<Values> inputs;
    for (const NDArray& input : operation.inputs) inputs.push_back(values(input));
    CHECK(close(joined(run_on(operation, Device::cpu())), operation.reference(inputs), 2e-6));
  }
}

TEST_CASE("every operator gives the same bits on the CPU and on simulated GPUs") {
  for (const SweepCase& operation : sweep_cases()) {
    CAPTURE(operation.name);
    const Values on_cpu = joined(run_on(operation, Device::cpu()));
    CHECK(joined(run_on(operation, Device::gpu(0))) == on_cpu);
    CHECK(joined(run_on(operation, Device::gpu(1))) == on_cpu);
  }
}

TEST_CASE("results lie on the device of the operands") {
  for (const SweepCase& operation : sweep_cases()) {
    CAPTURE(operation.name);
    for (const NDArray& result : run_on(operation, Device::gpu(1))) {
      CHECK(result.device() == Device::gpu(1));
    }
  }
}

}  // namespace heddle
