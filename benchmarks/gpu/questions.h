#pragma once

#include <span>

#include "gpu/sheet.h"

namespace bench::gpu {

struct Settings {
  int runs = 11;
  bool quick = false;  ///< small enough for a GPU that the tests make of threads
};

// One file each: what they measure and how is said there. On gpu(0) of the default engine.
void memory(const Settings& settings, Sheet& sheet);
void blocks(const Settings& settings, Sheet& sheet);
void chain(const Settings& settings, Sheet& sheet);
void recorded_chain(const Settings& settings, Sheet& sheet);
void bandwidth(const Settings& settings, Sheet& sheet);
void product(const Settings& settings, Sheet& sheet);
void synchronizations(const Settings& settings, Sheet& sheet);

struct Question {
  const char* name;
  const char* asks;
  void (*answer)(const Settings& settings, Sheet& sheet);
};

/// In the order in which they are asked: how much memory was ever in use counts for the first.
std::span<const Question> questions();

}  // namespace bench::gpu
