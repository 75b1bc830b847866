#pragma once

#include <memory>
#include <string>
#include <vector>

#include "contenders/contenders.h"
#include "programs/program.h"

namespace bench::engine {

/// What the command line asks for.
struct Options {
  int operations = 20'000;
  int runs = 25;  ///< 0: the contenders are only verified
  bool quick = false;
  std::string program;    ///< only cases with this in their names
  std::string contender;  ///< only contenders with this in their names
};

/// Whether the case is asked for; says on standard error that it begins.
bool begins(const Options& options, const std::string& name);

/// Of what takes long there are fewer runs than were asked for, but, if possible, so many.
inline constexpr int kLeastRuns = 9;

/// A share of the runs that were asked for, as far as kLeastRuns allows.
int fewer_runs(const Options& options, int share);

/// Runs of programs that take longer than one of the usual length.
int runs_of(const Options& options, int operations);

struct Result {
  std::string contender;
  std::vector<Times> runs;  ///< none if the contender cannot run the program
};
using Race = std::vector<Result>;

/// Before each run of a contender: lets threads fall asleep, and sees to it that nobody pays for
/// what those before have freed.
void rest_before_run();

enum class Start {
  kAtOnce,
  kAfterLastPush,  ///< of the program: see Contender::run_held()
};

/// The contenders that were asked for, one after the other on the same programs.
class Lineup {
 public:
  struct Member {
    std::string name;
    std::unique_ptr<Contender> contender;
  };

  explicit Lineup(const Options& options, const Settings& settings = {});

  /// Every contender that can, in turn, so many times, each after a rest. Before, each is verified:
  /// throws if it runs an operation out of its turn, or not at all.
  Race race(const Program& program, Start start, int runs, const Body& body = {});

  std::vector<Member>& members() { return members_; }
  /// Makes sure that plain calls are the last member, whoever was asked for.
  void end_with_serial();

 private:
  std::vector<Member> members_;
};

/// Every name and maker that was asked for, to be made one at a time.
std::vector<Entry> entries_of(const Options& options);

}  // namespace bench::engine
