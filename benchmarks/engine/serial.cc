#include "contender.h"

namespace bench::engine {
namespace {

class Serial final : public Contender {
 public:
  std::string name() const override { return "serial calls"; }
  void prepare(const Program& program) override { count_ = program.operations.size(); }

  Times run(const Body& body) override {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count_; ++i) {
      body.run(i);
      asm volatile("" ::: "memory");  // the calls are made, also if they do nothing
    }
    const auto time = std::chrono::steady_clock::now() - start;
    return {time, time};
  }

 private:
  std::size_t count_ = 0;
};

}  // namespace

std::unique_ptr<Contender> make_serial() { return std::make_unique<Serial>(); }

}  // namespace bench::engine
