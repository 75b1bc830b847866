// How much memory a pending operation takes: what the heap, and what is resident, has grown by when
// a hundred thousand operations have been pushed and none has run, for each of them. That is
// measured in a process of its own, as runtimes keep what they have used. Variables and lists of
// arguments, which were made before, do not count.
//
// And how often an operation allocates when lists of the same kind have been run before: calls of
// malloc and its like, by all threads, from the first push to the last end. oneTBB's tasks come
// from an allocator of its own, which keeps them. One program is for heddle alone, which is given
// callables: with 48 bytes and four variables it still has to allocate nothing.

#include "questions/memory.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "questions/heap.h"
#include "questions/questions.h"

namespace bench::engine {
namespace {

constexpr int kPending = 100'000;

/// In bytes per pending operation.
struct Footprint {
  double heap = 0;
  double resident = 0;
};

Footprint footprint(const Program& program, Contender& contender) {
  std::size_t heap = 0;
  std::size_t resident = 0;
  const auto before = [&] {
    trim_heap();
    heap = heap_bytes();
    resident = resident_bytes();
  };
  Footprint result;
  const auto after = [&] {
    const auto per_operation = [&](std::size_t now, std::size_t then) {
      return (static_cast<double>(now) - static_cast<double>(then)) /
             static_cast<double>(program.operations.size());
    };
    result.resident = per_operation(resident_bytes(), resident);
    result.heap = per_operation(heap_bytes(), heap);
  };
  contender.prepare(program);
  contender.run_held({}, {before, after});
  return result;
}

/// Has print_footprint() called in a new process.
Footprint footprint_in_new_process(const std::string& program, const std::string& contender) {
  const std::string command = "'" + std::filesystem::read_symlink("/proc/self/exe").string() +
                              "' --footprint '" + program + "' --contender '" + contender + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  Footprint result;
  if (!pipe || std::fscanf(pipe.get(), "%lf %lf", &result.heap, &result.resident) != 2) {
    throw std::runtime_error("no answer from " + command);
  }
  return result;
}

double allocations(const Program& program, Contender& contender) {
  constexpr int kRunsBefore = 3;
  contender.prepare(program);
  for (int i = 0; i < kRunsBefore; ++i) contender.run({});
  const AllocationCount count;
  contender.run({});
  return static_cast<double>(count.calls()) / static_cast<double>(program.operations.size());
}

void measure(MakeProgram make, const Options& options, Sheet& sheet) {
  const Program program = make(options.operations);
  const std::string name = "memory: " + program.name;
  if (!begins(options, name)) return;
  struct Rows {
    Row heap, resident, calls;
  };
  const std::vector<Entry> entries = entries_of(options);
  std::vector<Rows> rows;
  for (const Entry& entry : entries) {
    rows.push_back({.heap = {name, entry.name, "heap bytes/pending", {}},
                    .resident = {name, entry.name, "resident/pending", {}},
                    .calls = {name, entry.name, "allocations/push", {}}});
  }
  const int runs = std::min(options.runs, options.quick ? 1 : kLeastRuns);
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto contender = entries[i].make({});  // alone: the threads of others may allocate
      if (!contender->can_run(program)) continue;
      if (contender->can_hold()) {
        const Footprint sizes = footprint_in_new_process(program.name, entries[i].name);
        rows[i].heap.samples.push_back(sizes.heap);
        rows[i].resident.samples.push_back(sizes.resident);
      }
      rows[i].calls.samples.push_back(allocations(program, *contender));
    }
  }
  for (const Rows& each : rows) {
    if (each.calls.samples.empty()) continue;
    for (const Row& row : {each.heap, each.resident, each.calls}) sheet.add(row);
  }
}

}  // namespace

void print_footprint(const std::string& program, const Options& options) {
  const Program pending = program_called(program, kPending);
  const auto contender = entries_of(options).front().make({.max_pending = 2 * kPending});
  const Footprint result = footprint(pending, *contender);
  std::printf("%.2f %.2f\n", result.heap, result.resident);
}

void memory(const Options& options, Sheet& sheet) {
  std::vector<MakeProgram> programs{binary, four_variables};
  if (!options.quick) programs = {independent, binary, stencil, four_variables};
  for (const MakeProgram make : programs) measure(make, options, sheet);
}

}  // namespace bench::engine
