#include "tests/explore/forked_child.h"

#include <iostream>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "engine/operation_scope.h"
#include "tests/explore/scheduler.h"
#include "tests/support/forked_child.h"

namespace heddle::explore {
namespace {

using support::kRight;
using support::kWrong;

[[noreturn]] void be_child(const std::function<bool()>& check) {
  alarm(50);  // a loop without steps is a signal
  // Else the others' threads would go on, and let go of what they hold.
  Scheduler alone;
  bool is_right = false;
  const Schedule schedule = alone.run(Plan{}, [&] { is_right = check(); });
  if (!schedule.stuck.empty()) std::cerr << "in a forked child: " << schedule.stuck << std::endl;
  _exit(is_right && schedule.stuck.empty() ? kRight : kWrong);
}

}  // namespace

std::string run_in_child(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) be_child(check);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "no child could be forked";
  if (WIFEXITED(status) && WEXITSTATUS(status) == kRight) return {};
  return WIFEXITED(status) ? "it has left with " + std::to_string(WEXITSTATUS(status))
                           : "it has ended by signal " + std::to_string(WTERMSIG(status));
}

Forkable* Forkable::s_current = nullptr;

Forkable::Forkable(Engine& engine, std::vector<Var>& variables)
    : engine_(engine), variables_(variables) {
  s_current = this;
}

Forkable::~Forkable() { s_current = nullptr; }

std::string Forkable::fork_here() {
  return run_in_child([] {
    detail::OperationScope::exchange_current(nullptr);  // of whom the child interrupts
    const bool is_refused = s_current->is_refused();
    s_current->drop();
    return is_refused;
  });
}

bool Forkable::is_refused() const {
  using support::throws_forked_child;
  const Var x = variables_.front();
  const auto nothing = [] {};
  const auto asynchronous = [](RunContext& /*context*/, Completion /*completion*/) {};
  return throws_forked_child([&] { engine_.push(nothing, {}, {x}); }) &&
         throws_forked_child([&] { engine_.try_push(nothing, {}, {x}); }) &&
         throws_forked_child([&] { engine_.push_async(asynchronous, {}, {x}); }) &&
         throws_forked_child([&] { engine_.wait_for_var(x); }) &&
         throws_forked_child([&] { engine_.wait_for_var_unused(x); }) &&
         throws_forked_child([&] { engine_.wait_for_all(); }) &&
         throws_forked_child([&] { engine_.version(x); }) &&
         throws_forked_child([&] { engine_.clear_error(x); }) &&
         throws_forked_child([&] { engine_.delete_variable(x); }) &&
         throws_forked_child([&] { engine_.new_variable(); }) &&
         throws_forked_child([&] { engine_.record(nothing); }) &&
         throws_forked_child([&] { engine_.shutdown(); }) &&
         throws_forked_child([&] { engine_.options(); }) &&
         throws_forked_child([&] { engine_.trace(); });
}

void Forkable::drop() {
  variables_.clear();
  std::destroy_at(&engine_);  // the child leaves without its owner's destructor
}

}  // namespace heddle::explore
