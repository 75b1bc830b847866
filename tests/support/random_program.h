#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/engine.h"

namespace heddle::support {

/// What a random program is made from; the same shape gives the same program.
struct ProgramShape {
  std::uint64_t seed = 1;
  int variables = 8;
  int threads = 1;  ///< that push
  int steps_per_thread = 500;
  int gpus = 0;          ///< how many devices besides the CPU take part
  bool errors = true;    ///< operations that fail, overwrites, clear_error
  bool children = true;  ///< operations that push operations
  bool deletions = true;
  bool waits = true;
  bool cancels = true;  ///< operations in groups, which are cancelled; with errors only

  /// Prints all of it: what is needed to run the program again.
  std::string str() const;
};

enum class Ending : std::uint8_t {
  kReturn,
  kThrow,
  kThrowNumber,    ///< not a std::exception
  kDone,           ///< push_async, done() inside the callable
  kDoneElsewhere,  ///< push_async, done() on another thread, which also does the writes
  kFailElsewhere,
  kDrop,  ///< push_async, the token is dropped on another thread
};

bool is_async(Ending ending);
bool fails(Ending ending);

struct RandomOperation {
  static constexpr int kNone = -1;

  std::span<const std::uint16_t> reads() const { return {reads_.data(), read_count}; }
  std::span<const std::uint16_t> mutates() const { return {mutates_.data(), mutate_count}; }

  std::array<std::uint16_t, 4> reads_{};    ///< duplicates occur
  std::array<std::uint16_t, 3> mutates_{};  ///< duplicates occur, also of reads
  std::uint8_t read_count = 0;
  std::uint8_t mutate_count = 0;
  Device device;
  Lane lane = Lane::kCompute;
  std::int8_t priority = 0;
  Ending ending = Ending::kReturn;
  bool overwrites = false;
  bool try_first = false;  ///< try_push, and push if that refuses
  int child = kNone;       ///< index of the operation that this one pushes
  int group = kNone;       ///< to whose CancelSource it belongs
};

struct Step {
  enum class Kind : std::uint8_t {
    kPush,
    kDelete,
    kClear,
    kWaitForVar,
    kWaitForUnused,
    kWaitForAll,
    kCancel
  };
  Kind kind = Kind::kPush;
  int index = 0;  ///< of the operation for kPush, the group for kCancel, else of the variable
};

struct Program {
  ProgramShape shape;
  int groups = 0;
  std::vector<RandomOperation> operations;  ///< children too
  std::vector<std::vector<Step>> threads;
};

Program generate(const ProgramShape& shape);

/// The value that variable `index` starts with.
std::uint64_t initial_value(std::size_t index);

/// Mixes `b` into `a`; no two of the inputs can be swapped unnoticed.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15U + (b ^ 0xD1B54A32D192ED03U);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// What an operation does with the values: h of its number and its reads, …
template <class Values>
std::uint64_t digest(const RandomOperation& operation, std::size_t number, const Values& values) {
  std::uint64_t h = mix(number, operation.mutate_count);
  for (const std::uint16_t index : operation.reads()) h = mix(h, values(index));
  return h;
}

/// … and then each variable that it mutates.
constexpr std::uint64_t written(const RandomOperation& operation, std::uint64_t old,
                                std::uint64_t h) {
  return operation.overwrites ? h : mix(old, h);
}

/// The variables that an operation mutates, each once.
std::vector<std::uint16_t> distinct_mutates(const RandomOperation& operation);
/// The variables that it only reads, each once.
std::vector<std::uint16_t> distinct_reads(const RandomOperation& operation);

}  // namespace heddle::support
