#include "engine/intake.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/var_state.h"

namespace heddle::detail {

void Intake::name(VarList variables) {
  for (std::size_t i = 0; i < variables.size(); ++i) ++variables[i]->named;
}

bool Intake::keeps_order(int priority) {
  if (!has_priorities_ && priority == priority_) return true;
  has_priorities_ = limit_.pending() != 0;
  priority_ = priority;
  return !has_priorities_;
}

void Intake::check(const Submission& submission, VarList list) const {
  for (std::size_t i = 0; i < list.size(); ++i) {
    check_usable(list[i], engine_, submission.call());
  }
}

Intake::Left Intake::try_leave(Submission& submission, const Route& route) {
  const bool has_place = submission.admission == Submission::Admission::kAdmitted;
  const std::lock_guard held(lock());
  if (is_block_open_ || limit_.stopped()) return {};
  if (!has_place && (limit_.has_line() || !limit_.has_room())) {
    check(submission, submission.mutates);
    check(submission, submission.reads);
    return {.lacks_room = true};
  }
  if (!keeps_order(submission.priority)) return {};
  Arrival& arrival = arrivals_.next();
  VarState** next = arrival.variables.data();
  const auto copy = [&next, &submission, id = engine_](VarList list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      VarState* const variable = list[i];
      if (!is_usable(variable, id)) refuse_variable(variable, id, submission.call());
      *next++ = variable;
    }
    return static_cast<std::uint8_t>(list.size());
  };
  arrival.mutate_count = copy(submission.mutates);
  arrival.read_count = copy(submission.reads);
  std::for_each(arrival.variables.data(), next, [](VarState* variable) { ++variable->named; });
  std::construct_at(&arrival.task, std::move(*submission.task));
  arrival.priority = submission.priority;
  arrival.flags = route.flags;
  arrival.queue = route.queue;
  arrival.device = submission.options->device;
  arrival.generation = generation_;
  arrival.sequence = give_numbers(1);
  if (!has_place) limit_.take();
  arrivals_.publish();
  return {.sequence = arrival.sequence};
}

}  // namespace heddle::detail
