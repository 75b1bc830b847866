#include <omp.h>

#include "contenders/contenders.h"
#include "contenders/timing.h"

namespace bench::engine {
namespace {

/// The thread that waits runs operations, too.
///
/// Only tasks of one parent are ordered by `depend`, so two threads cannot push operations that
/// conflict. With more than 64 tasks for each thread a new one is run by the thread that pushes it,
/// which waits for what it depends on: operations cannot be held back.
class Libgomp final : public Contender {
 public:
  explicit Libgomp(const Settings& settings) : threads_(settings.workers + 1) {}

  void prepare(const Program& program) override {
    program_ = &program;
    variables_.assign(static_cast<std::size_t>(program.variables), 0);
  }

  Times run(const Body& body) override {
    Times times;
    in_team([&] {
      times = time_run(
          *program_, {}, [&](std::size_t i) { push(i, body); }, wait);
    });
    return times;
  }

  std::vector<std::chrono::nanoseconds> round_trips(const Body& body,
                                                    const RoundTrips& trips) override {
    std::vector<std::chrono::nanoseconds> times;
    in_team([&] {
      times = time_round_trips(trips, [&] {
        push(0, body);
        wait();
      });
    });
    return times;
  }

 private:
  template <class Work>
  void in_team(const Work& work) const {
#pragma omp parallel num_threads(threads_)
#pragma omp single
    work();
  }

  static void wait() {
#pragma omp taskwait
  }

  void push(std::size_t i, const Body& body) {
    const Operation& operation = program_->operations[i];
    const int* const reads = operation.reads.data();
    const int* const writes = operation.writes.data();
    const int read_count = static_cast<int>(operation.reads.size());
    const int write_count = static_cast<int>(operation.writes.size());
    [[maybe_unused]] char* const variables = variables_.data();  // seen by depend only
    const Body* const what = &body;
#pragma omp task depend(iterator(k = 0                                         \
                                 : read_count),                                \
                        in                                                     \
                        : variables[reads[k]]) depend(iterator(k = 0           \
                                                               : write_count), \
                                                      out                      \
                                                      : variables[writes[k]])  \
    firstprivate(i, what)
    what->run(i);
  }

  int threads_;
  const Program* program_ = nullptr;
  std::vector<char> variables_;
};

}  // namespace

std::unique_ptr<Contender> make_libgomp(const Settings& settings) {
  return std::make_unique<Libgomp>(settings);
}

}  // namespace bench::engine
