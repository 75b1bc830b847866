#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heddle/engine.h"

namespace heddle::explore {

/// Forks, between two steps of a schedule. As in any child of fork() only one thread goes on there,
/// while what the others hold stays held: it runs `check`, in a schedule of its own. Returns "" if
/// that came to its end and returned true.
std::string run_in_child(const std::function<bool()>& check);

/// Says, while it lives, what the program that runs has that a forked child is to be refused by,
/// and then to drop.
class Forkable {
 public:
  Forkable(Engine& engine, std::vector<Var>& variables);
  ~Forkable();
  Forkable(const Forkable&) = delete;
  Forkable& operator=(const Forkable&) = delete;

  /// False where an engine, or its first variable, is still being made, and where it is already
  /// being destroyed: nobody else may use it then.
  static bool is_any() { return s_current != nullptr && !s_current->variables_.empty(); }
  /// Returns "", or why a child that is forked here is not refused, or cannot leave.
  static std::string fork_here();

 private:
  void drop();

  static Forkable* s_current;

  Engine& engine_;
  std::vector<Var>& variables_;
};

}  // namespace heddle::explore
