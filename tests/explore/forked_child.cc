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
    const bool is_refused =
        support::all_throw_forked_child(s_current->engine_, s_current->variables_.front());
    s_current->drop();
    return is_refused;
  });
}

void Forkable::drop() {
  variables_.clear();
  std::destroy_at(&engine_);  // the child leaves without its owner's destructor
}

}  // namespace heddle::explore
