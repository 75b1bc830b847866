#include "engine/base/environment.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

namespace heddle::base {
namespace {

using Catch::Matchers::Contains;
using Variables = std::map<std::string, std::string>;

Environment parse(const Variables& variables) {
  return parse_environment([&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string parse_error(const std::string& name, const std::string& value) {
  try {
    parse({{name, value}});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("without variables nothing is set") {
  const Environment parsed = parse({});
  CHECK_FALSE(parsed.engine);
  CHECK_FALSE(parsed.cpu_workers);
  CHECK_FALSE(parsed.gpus);
  CHECK_FALSE(parsed.trace);
}

TEST_CASE("an empty variable counts as unset") {
  const Environment parsed = parse({{"HEDDLE_ENGINE", ""}, {"HEDDLE_TRACE", ""}});
  CHECK_FALSE(parsed.engine);
  CHECK_FALSE(parsed.trace);
}

TEST_CASE("each variable reaches its field") {
  const Environment parsed = parse({{"HEDDLE_ENGINE", "naive"},
                                    {"HEDDLE_CPU_WORKERS", "3"},
                                    {"HEDDLE_GPUS", "sim:2"},
                                    {"HEDDLE_MAX_PENDING", "128"},
                                    {"HEDDLE_WATCHDOG_MS", "0"},
                                    {"HEDDLE_SEED", "18446744073709551615"},
                                    {"HEDDLE_TRACE", "1"},
                                    {"HEDDLE_ACCESS_CHECK", "1"},
                                    {"HEDDLE_DEBUG_SYNC", "1"},
                                    {"HEDDLE_DEBUG_MEMORY", "1"},
                                    {"HEDDLE_CUDA_GRAPHS", "0"},
                                    {"HEDDLE_DETERMINISTIC", "0"},
                                    {"HEDDLE_KVSTORE_ALGORITHM", "auto"}});
  CHECK(parsed.engine == EngineKind::kNaive);
  CHECK(parsed.cpu_workers == 3);
  CHECK(parsed.gpus == "sim:2");
  CHECK(parsed.max_pending == 128U);
  CHECK(parsed.watchdog == std::chrono::milliseconds(0));
  CHECK(parsed.seed == 18446744073709551615U);
  CHECK(parsed.trace == true);
  CHECK(parsed.access_check == true);
  CHECK(parsed.debug_sync == true);
  CHECK(parsed.debug_memory == true);
  CHECK(parsed.cuda_graphs == false);
  CHECK(parsed.deterministic == false);
  CHECK(parsed.kvstore_algorithm == "auto");
}

TEST_CASE("every engine kind has a name") {
  CHECK(parse({{"HEDDLE_ENGINE", "threaded"}}).engine == EngineKind::kThreaded);
  CHECK(parse({{"HEDDLE_ENGINE", "pooled"}}).engine == EngineKind::kPooled);
  CHECK(parse({{"HEDDLE_ENGINE", "explore"}}).engine == EngineKind::kExplore);
}

TEST_CASE("a value that does not parse is an error that names variable, value and form") {
  const auto [name, value, form] = GENERATE(table<std::string, std::string, std::string>({
      {"HEDDLE_ENGINE", "Naive", "threaded, pooled, naive or explore"},
      {"HEDDLE_CPU_WORKERS", "-1", "0 to 1024"},
      {"HEDDLE_CPU_WORKERS", "1025", "0 to 1024"},
      {"HEDDLE_CPU_WORKERS", "2x", "0 to 1024"},
      {"HEDDLE_CPU_WORKERS", " 2", "0 to 1024"},
      {"HEDDLE_CPU_WORKERS", "99999999999999999999", "0 to 1024"},
      {"HEDDLE_MAX_PENDING", "0", "1 to"},
      {"HEDDLE_MAX_PENDING", "-5", "1 to"},
      {"HEDDLE_WATCHDOG_MS", "1s", "0 to"},
      {"HEDDLE_SEED", "-1", "0 to 18446744073709551615"},
      {"HEDDLE_SEED", "18446744073709551616", "0 to 18446744073709551615"},
      {"HEDDLE_TRACE", "yes", "0 or 1"},
      {"HEDDLE_ACCESS_CHECK", "2", "0 or 1"},
      {"HEDDLE_DEBUG_SYNC", "on", "0 or 1"},
      {"HEDDLE_DEBUG_MEMORY", "yes", "0 or 1"},
      {"HEDDLE_CUDA_GRAPHS", "2", "0 or 1"},
      {"HEDDLE_DETERMINISTIC", "true", "0 or 1"},
      {"HEDDLE_KVSTORE_ALGORITHM", "best", "auto"},
  }));
  CHECK_THAT(parse_error(name, value), Contains(name) && Contains("\"" + value + "\"") &&
                                           Contains("expected") && Contains(form));
}

TEST_CASE("a configured field wins over the environment") {
  RuntimeOptions configured;
  configured.gpus = "none";
  configured.engine.cpu_workers = 5;
  const RuntimeOptions merged =
      merge_options(configured, parse({{"HEDDLE_GPUS", "sim:2"}, {"HEDDLE_CPU_WORKERS", "3"}}));
  CHECK(merged.gpus == "none");
  CHECK(merged.engine.cpu_workers == 5);
}

TEST_CASE("the environment wins over defaults") {
  const RuntimeOptions merged = merge_options({}, parse({{"HEDDLE_GPUS", "sim:2"},
                                                         {"HEDDLE_MAX_PENDING", "9"},
                                                         {"HEDDLE_SEED", "7"},
                                                         {"HEDDLE_TRACE", "1"},
                                                         {"HEDDLE_DEBUG_SYNC", "1"},
                                                         {"HEDDLE_DEBUG_MEMORY", "1"},
                                                         {"HEDDLE_CUDA_GRAPHS", "0"}}));
  CHECK(merged.gpus == "sim:2");
  CHECK(merged.engine.max_pending == 9);
  CHECK(merged.engine.seed == 7);
  CHECK(merged.engine.trace);
  CHECK(merged.debug_sync);
  CHECK(merged.debug_memory);
  CHECK_FALSE(merged.cuda_graphs);
  CHECK(merged.engine.cpu_workers == 0);
}

TEST_CASE("a variable that is set after the first use changes nothing") {
  const Environment before = environment();
  REQUIRE(setenv("HEDDLE_SEED", "4711", 1) == 0);
  const std::optional<std::uint64_t> seed = environment().seed;
  unsetenv("HEDDLE_SEED");
  CHECK(seed == before.seed);
  CHECK(seed != 4711);
}

TEST_CASE("the help fits a terminal of 80 columns") {
  std::ostringstream help;
  print_environment_help(help);
  std::istringstream lines(help.str());
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
    CHECK(line.find_last_not_of(' ') == line.size() - 1);
  }
}

TEST_CASE("the help names every variable") {
  std::ostringstream text;
  print_environment_help(text);
  for (const char* name :
       {"HEDDLE_ENGINE", "HEDDLE_CPU_WORKERS", "HEDDLE_GPUS", "HEDDLE_MAX_PENDING",
        "HEDDLE_WATCHDOG_MS", "HEDDLE_SEED", "HEDDLE_TRACE", "HEDDLE_ACCESS_CHECK",
        "HEDDLE_DEBUG_SYNC", "HEDDLE_DEBUG_MEMORY", "HEDDLE_CUDA_GRAPHS", "HEDDLE_DETERMINISTIC",
        "HEDDLE_KVSTORE_ALGORITHM"}) {
    CHECK_THAT(text.str(), Contains(name));
  }
}

}  // namespace
}  // namespace heddle::base
