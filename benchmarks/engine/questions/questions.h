#pragma once

#include <span>

#include "questions/lineup.h"
#include "questions/sheet.h"

namespace bench::engine {

// One file each: what they measure and how is said there.
void throughput(const Options& options, Sheet& sheet);
void round_trip(const Options& options, Sheet& sheet);
void push_alone(const Options& options, Sheet& sheet);
void memory(const Options& options, Sheet& sheet);
void grain(const Options& options, Sheet& sheet);
void variables(const Options& options, Sheet& sheet);
void pending(const Options& options, Sheet& sheet);
void workers(const Options& options, Sheet& sheet);
void replay(const Options& options, Sheet& sheet);

struct Question {
  const char* name;
  const char* asks;
  void (*answer)(const Options& options, Sheet& sheet);
};

std::span<const Question> questions();

}  // namespace bench::engine
