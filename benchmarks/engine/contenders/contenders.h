#pragma once

#include <memory>
#include <span>

#include "contenders/contender.h"

namespace bench::engine {

// One file each. Only one of each may exist at a time: some set up what there is once in a process.
std::unique_ptr<Contender> make_heddle(const Settings& settings);
std::unique_ptr<Contender> make_serial(const Settings& settings);  ///< plain calls: the floor
/// With dependencies counted by hand.
std::unique_ptr<Contender> make_tbb_task_group(const Settings& settings);
/// A graph built, run once and thrown away.
std::unique_ptr<Contender> make_tbb_flow_graph(const Settings& settings);
std::unique_ptr<Contender> make_libgomp(const Settings& settings);  ///< task depend
std::unique_ptr<Contender> make_starpu(const Settings& settings);

struct Entry {
  const char* name;
  std::unique_ptr<Contender> (*make)(const Settings& settings);
};

inline constexpr const char* kHeddle = "heddle";
inline constexpr const char* kSerial = "serial calls";

/// Those that this build has, heddle first.
std::span<const Entry> entries();

}  // namespace bench::engine
