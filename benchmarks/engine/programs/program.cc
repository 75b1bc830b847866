#include "programs/program.h"

#include <random>
#include <stdexcept>

namespace bench::engine {
namespace {

/// Groups of `devices` + 2 operations, as many as go into `count`, but at least one.
Program fan_out(int count, int devices) {
  const int result = devices + 1;
  Program program{"fan-out to " + std::to_string(devices) + " GPUs", devices + 2, {}};
  program.devices = devices;
  std::vector<int> parts;
  for (int device = 0; device < devices; ++device) parts.push_back(device + 1);
  for (int i = 0; i == 0 || i + devices + 2 <= count; i += devices + 2) {
    program.operations.push_back({{}, {0}});
    for (int device = 0; device < devices; ++device) {
      program.operations.push_back({{0}, {device + 1}, Lane::kCompute, device});
    }
    program.operations.push_back({parts, {result}});
  }
  return program;
}

}  // namespace

Program independent(int count) {
  constexpr int kVariables = 1000;
  Program program{"independent", kVariables, {}};
  for (int i = 0; i < count; ++i) program.operations.push_back({{}, {i % kVariables}});
  return program;
}

Program chain(int count) {
  Program program{"chain", 1, {}};
  program.operations.assign(static_cast<std::size_t>(count), {{}, {0}});
  return program;
}

Program write_then_reads(int count) {
  constexpr int kGroup = 64;
  Program program{"one write, 63 reads", 1, {}};
  for (int i = 0; i < count; ++i) {
    if (i % kGroup == 0) {
      program.operations.push_back({{}, {0}});
    } else {
      program.operations.push_back({{0}, {}});
    }
  }
  return program;
}

Program binary(int count) {
  constexpr int kVariables = 1024;
  Program program = binary_of(count, kVariables);
  program.name = "binary";
  return program;
}

Program binary_of(int count, int variables) {
  Program program{"binary of " + std::to_string(variables), variables, {}};
  std::mt19937 random(42);
  std::uniform_int_distribution<int> variable(0, variables - 1);
  for (int i = 0; i < count; ++i) {
    const int out = variable(random);
    const int a = variable(random);
    const int b = variable(random);
    Operation operation{{}, {out}};
    if (a != out) operation.reads.push_back(a);
    if (b != out && b != a) operation.reads.push_back(b);
    program.operations.push_back(operation);
  }
  return program;
}

Program stencil(int count) {
  constexpr int kWidth = kStencilWidth;
  Program program{"stencil", 2 * kWidth, {}};
  for (int i = 0; i < count; ++i) {
    const int row = i / kWidth;
    const int x = i % kWidth;
    const int from = row % 2 * kWidth;
    const int to = kWidth - from;
    Operation operation{{from + x}, {to + x}};
    if (x > 0) operation.reads.push_back(from + x - 1);
    if (x + 1 < kWidth) operation.reads.push_back(from + x + 1);
    program.operations.push_back(operation);
  }
  return program;
}

Program binary_from_two_threads(int count) {
  Program program = binary(count);
  program.name = "binary from two threads";
  program.pushers = 2;
  return program;
}

Program four_lanes(int count) {
  constexpr int kLanes = 4;
  constexpr int kUnderWay = 8;
  constexpr int kSum = 3 * kUnderWay;
  Program program{"four lanes", kSum + 1, {}};
  for (int i = 0; i < count; ++i) {
    const int input = i / kLanes % kUnderWay;
    const int output = input + kUnderWay;
    const int copied = output + kUnderWay;
    switch (i % kLanes) {
      case 0:
        program.operations.push_back({{}, {input}, Lane::kCopyIn});
        break;
      case 1:
        program.operations.push_back({{input}, {output}});
        break;
      case 2:
        program.operations.push_back({{output}, {copied}, Lane::kCopyOut});
        break;
      default:
        program.operations.push_back({{output}, {kSum}, Lane::kComm});
        break;
    }
  }
  return program;
}

Program fan_out_to_two(int count) { return fan_out(count, 2); }
Program fan_out_to_four(int count) { return fan_out(count, 4); }

Program four_variables(int count) {
  constexpr int kVariables = 1024;
  Program program{"four variables, 48 bytes", kVariables, {}};
  program.large_callables = true;
  std::mt19937 random(42);
  std::uniform_int_distribution<int> variable(0, kVariables / 4 - 1);
  const auto any = [&](int quarter) { return 4 * variable(random) + quarter; };
  for (int i = 0; i < count; ++i) {
    const int turn = i % 4;  // so that each is read and written, and never both at a time
    const std::vector<int> reads{any(turn), any((turn + 1) % 4)};
    program.operations.push_back({reads, {any((turn + 2) % 4), any((turn + 3) % 4)}});
  }
  return program;
}

Program program_called(const std::string& name, int count) {
  std::vector<MakeProgram> makers(kPrograms.begin(), kPrograms.end());
  makers.push_back(four_variables);
  std::string names;
  for (const MakeProgram make : makers) {
    Program program = make(count);
    if (program.name == name) return program;
    names += (names.empty() ? "" : ", ") + program.name;
  }
  throw std::invalid_argument("no program \"" + name + "\": expected one of " + names);
}

}  // namespace bench::engine
