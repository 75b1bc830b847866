#include <vector>

#include <omp.h>

#include "contender.h"

namespace bench::engine {
namespace {

class Libgomp final : public Contender {
 public:
  std::string name() const override { return "libgomp depend"; }

  void prepare(const Program& program) override {
    program_ = &program;
    variables_.assign(static_cast<std::size_t>(program.variables), 0);
  }

  Times run(const Body& body) override {
    Times times;
#pragma omp parallel num_threads(kWorkers + 1)
#pragma omp single
    {
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < program_->operations.size(); ++i) push(i, body);
      times.submit = std::chrono::steady_clock::now() - start;
#pragma omp taskwait
      times.total = std::chrono::steady_clock::now() - start;
    }
    return times;
  }

 private:
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

  const Program* program_ = nullptr;
  std::vector<char> variables_;
};

}  // namespace

std::unique_ptr<Contender> make_libgomp() { return std::make_unique<Libgomp>(); }

}  // namespace bench::engine
