#include <span>

#include <heddle/engine.h>

#include "contender.h"

namespace bench::engine {
namespace {

class Heddle final : public Contender {
 public:
  std::string name() const override { return "heddle"; }

  void prepare(const Program& program) override {
    arguments_.clear();
    std::vector<::heddle::Var> variables;
    for (int i = 0; i < program.variables; ++i) variables.push_back(engine_.new_variable());
    for (const Operation& operation : program.operations) {
      Arguments& arguments = arguments_.emplace_back();
      for (const int v : operation.reads) {
        arguments.reads.push_back(variables[static_cast<std::size_t>(v)]);
      }
      for (const int v : operation.writes) {
        arguments.writes.push_back(variables[static_cast<std::size_t>(v)]);
      }
    }
  }

  Times run(const Body& body) override {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      engine_.push([&body, i] { body.run(i); }, arguments_[i].reads, arguments_[i].writes);
    }
    const auto pushed = std::chrono::steady_clock::now();
    engine_.wait_for_all();
    return {pushed - start, std::chrono::steady_clock::now() - start};
  }

 private:
  struct Arguments {
    std::vector<::heddle::Var> reads;
    std::vector<::heddle::Var> writes;
  };

  ::heddle::Engine engine_{{.cpu_workers = kWorkers}};
  std::vector<Arguments> arguments_;
};

}  // namespace

std::unique_ptr<Contender> make_heddle() { return std::make_unique<Heddle>(); }

}  // namespace bench::engine
