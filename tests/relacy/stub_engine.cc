#include "tests/relacy/stub_engine.h"

#include <cstdlib>

#include "engine/graph_run.h"
#include "engine/ledger_turn.h"
#include "engine/operation_scope.h"

// In the place of what the parts under test seldom call, and what would bring much else along.

namespace heddle {

std::string Device::str() const { return "cpu(0)"; }

namespace detail {

EngineCore::EngineCore(const EngineOptions& options)
    : id_(relacy::StubEngine::kId), process_(0), options_(options) {}

Var EngineCore::handle(VarState* state) {
  retain(state);
  return Var(state);
}

constinit ProcessMark g_process_mark = 0;
void refuse_child(const char* /*call*/) { std::abort(); }  // no test forks

const OperationScope* OperationScope::of(const EngineCore& /*engine*/) noexcept { return nullptr; }

void Ledger::Turn::wait_for_block() {}  // no test opens one
void GraphRun::count_rows() { std::abort(); }
void GraphRun::lend(int, std::uint32_t) { std::abort(); }
std::uint64_t GraphRun::ended() const { std::abort(); }
std::uint64_t GraphRun::ended_writes(std::uint32_t) { std::abort(); }

bool Disposal::ask() noexcept { std::abort(); }  // no test drops anything
void Disposal::stop() {}

}  // namespace detail
}  // namespace heddle
