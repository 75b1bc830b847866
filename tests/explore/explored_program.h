#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace heddle::explore {

/// A random program for a scheduler to run, which makes an engine of its own.
struct ExploredProgram {
  std::string title;  ///< what is needed to know it by
  /// Returns "", or how what came out differs from what should have.
  std::function<std::string()> run;
};

/// That a program pushes, but for those of recordings, and of the end of engines, which push 24 and
/// some children.
inline constexpr int kMostOperations = 64;

// Each of these depends on its seed only.

/// Everything that operations may do, pushed by up to three threads, against their serial replay.
ExploredProgram operations_program(std::uint64_t seed);
/// Recordings run by up to two threads among other pushes, against kNaive.
ExploredProgram recordings_program(std::uint64_t seed);
/// An operation holds a worker until something that does not depend on it has come to pass: what
/// others are to do must not stay with who is held.
ExploredProgram held_program(std::uint64_t seed);
/// Many operations of a few variables in one lane, and in one of each GPU, of which each knows what
/// it must find, and which others ask about now and then.
ExploredProgram short_program(std::uint64_t seed);
/// Small operations in several lanes, pushed and recorded, and then some that need each other, one
/// for each worker.
ExploredProgram lanes_program(std::uint64_t seed);
/// Shutdown and cancellation while others push: each operation is run once or not at all, and
/// counted.
ExploredProgram ending_program(std::uint64_t seed);

/// One of them.
ExploredProgram explored_program(std::uint64_t seed);

}  // namespace heddle::explore
