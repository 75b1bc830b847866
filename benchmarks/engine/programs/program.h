#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// What every contender is given to run: lists of operations on numbered variables.
namespace bench::engine {

/// Where an operation runs, for runtimes that have lanes; to the others it makes no difference.
enum class Lane : std::uint8_t { kCompute, kCopyIn, kCopyOut, kComm };

inline constexpr int kCpu = -1;
inline constexpr int kGpus = 4;  ///< simulated ones, for programs that use them

/// One operation, by the numbers of the variables that it reads and writes. None is named twice.
struct Operation {
  std::vector<int> reads;
  std::vector<int> writes;
  Lane lane = Lane::kCompute;
  int device = kCpu;  ///< or the number of a simulated GPU
};

/// A list of operations in program order. With several pushers operation i is pushed by the thread
/// i % pushers; then only the operations of one thread are in order.
struct Program {
  std::string name;
  int variables = 0;
  std::vector<Operation> operations;
  int pushers = 1;
  int devices = 0;               ///< simulated GPUs that it uses, for runtimes that have devices
  bool large_callables = false;  ///< of 48 bytes, in place of the 16 that an operation needs
};

// Each of `count` operations, always the same ones.
Program independent(int count);               ///< each writes one of 1000 variables in turn
Program chain(int count);                     ///< all write one variable
Program write_then_reads(int count);          ///< one write, then 63 reads of the same variable
Program binary(int count);                    ///< two random reads and one random write of 1024
Program binary_of(int count, int variables);  ///< the same of so many variables
/// A row of 64 cells after the other, each from three cells of the row before.
Program stencil(int count);
inline constexpr int kStencilWidth = 64;

Program binary_from_two_threads(int count);
/// Batches that are copied in, computed on, copied out and sent; eight of them are under way.
Program four_lanes(int count);
// One write on the CPU, an operation on each GPU that reads it, and one that reads all of theirs.
Program fan_out_to_two(int count);
Program fan_out_to_four(int count);

using MakeProgram = Program (*)(int count);
/// The five that every contender can run as they are.
inline constexpr std::array<MakeProgram, 5> kPlainPrograms{independent, chain, write_then_reads,
                                                           binary, stencil};
/// Two random reads and two random writes of 1024 variables, by large callables.
Program four_variables(int count);
/// The plain ones and those that take two threads, lanes, or devices.
inline constexpr std::array<MakeProgram, 9> kPrograms{
    independent, chain,          write_then_reads, binary, stencil, binary_from_two_threads,
    four_lanes,  fan_out_to_two, fan_out_to_four};
/// The program with that name, of these and four_variables(). Throws std::invalid_argument if there
/// is none.
Program program_called(const std::string& name, int count);

}  // namespace bench::engine
