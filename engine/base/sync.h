#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

/// What threads of the engine meet at, and the time that they see: atomics, locks, threads, the
/// clock. Here these are the standard library's. Engine and simulated devices, but for the caches
/// of blocks (depot.h), name none of them otherwise, so that they can be compiled with others in
/// their place, which let a test decide who goes next (tests/explore). What each memory order pairs
/// with: engine/MEMORY_ORDERS.md.
namespace heddle::base {

template <class T>
using Atomic = std::atomic<T>;
using Mutex = std::mutex;
using ConditionVariable = std::condition_variable;
using Thread = std::thread;
using Clock = std::chrono::steady_clock;

/// Lets other threads have the CPU for now.
inline void yield() { std::this_thread::yield(); }

inline void sleep_for(Clock::duration pause) { std::this_thread::sleep_for(pause); }

/// Tells the CPU that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace heddle::base
