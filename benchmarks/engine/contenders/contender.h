#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "programs/body.h"
#include "programs/program.h"

namespace bench::engine {

/// What a contender is made with.
struct Settings {
  int workers = 2;  ///< beside the threads that push
  /// So many operations are pushed and have not ended, at most; for runtimes that have a bound.
  std::size_t max_pending = 65536;
};

/// How long a program took, from the first push.
struct Times {
  std::chrono::nanoseconds submit{0};  ///< until the last push has returned
  std::chrono::nanoseconds total{0};   ///< until the last operation has ended
};

/// Called at the moments of a run that their names tell, by the thread that makes the run; the
/// times do not count them.
struct Moments {
  std::function<void()> before_pushes = {};
  std::function<void()> after_pushes = {};
};

/// How a program is run again.
enum class Again {
  kPushed,  ///< it is pushed anew each time
  kKept,    ///< as Contender::keep() has kept it
};

/// Pushes one operation and waits for it, so many times.
struct RoundTrips {
  std::size_t count = 0;
  std::chrono::microseconds pause{0};     ///< before each
  std::function<void()> after_each = {};  ///< the times do not count it
};

/// A runtime that runs programs.
class Contender {
 public:
  Contender() = default;
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  /// Whether it can be given `program` as it is. Where that is false its file says why. Lanes and
  /// devices only say where an operation runs: who has none runs the same operations in the same
  /// order. How large a callable is matters to those only who are given callables.
  virtual bool can_run(const Program& program) const {
    return program.pushers == 1 && !program.large_callables;
  }
  /// Whether it can take a whole program before its first operation runs.
  virtual bool can_hold() const { return false; }

  /// Makes whatever of `program` can be made ahead of time and used again: variables and handles,
  /// not dependencies. `program` outlives the next calls of the functions below.
  virtual void prepare(const Program& program) = 0;
  /// Pushes every operation of the prepared program, in order, and waits for all of them.
  virtual Times run(const Body& body) = 0;
  /// The same, but nothing runs before the last push has returned. Needs can_hold().
  virtual Times run_held(const Body& /*body*/, const Moments& /*moments*/) {
    throw std::logic_error("this contender cannot hold operations back");
  }
  virtual bool can_repeat(Again /*how*/) const { return false; }
  /// Records the prepared program, or builds its graph, with `body`, which outlives its runs. Needs
  /// can_repeat(Again::kKept).
  virtual void keep(const Body& /*body*/) {
    throw std::logic_error("this contender cannot keep a program");
  }
  /// Runs the prepared program so many times, with waits between them only where the runtime needs
  /// them; one that was kept with the body that it was kept with. Needs can_repeat(how).
  virtual Times repeat(const Body& /*body*/, Again /*how*/, int /*times*/) {
    throw std::logic_error("this contender cannot run a program again");
  }
  /// As keep(body) and repeat(body, Again::kKept, 1), but nothing runs before the program has been
  /// handed over. Needs can_hold(), too.
  virtual void repeat_held(const Body& /*body*/, const Moments& /*moments*/) {
    throw std::logic_error("this contender cannot run a program again that it holds back");
  }
  /// Pushes the first operation of the prepared program, and waits for it, again and again.
  virtual std::vector<std::chrono::nanoseconds> round_trips(const Body& body,
                                                            const RoundTrips& trips) = 0;
};

}  // namespace bench::engine
