#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/program_test.h"
#include "tests/support/program_text.h"
#include "tests/support/scale.h"

// Small programs that an engine with a bug has failed: tests/engine/programs.

namespace heddle {
namespace {

std::vector<std::filesystem::path> program_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_PROGRAMS)) {
    if (entry.path().extension() == ".program") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST_CASE("programs that have failed once give the result of their serial replay") {
  const std::vector<std::filesystem::path> files = program_files();
  REQUIRE(!files.empty());
  for (const std::filesystem::path& file : files) {
    CAPTURE(file.filename());
    CHECK(support::check_program(support::parse_program(content(file)), 200 / support::kScale) ==
          "");
  }
}

}  // namespace
}  // namespace heddle
