#include "tests/explore/scheduler.h"

#include <algorithm>
#include <utility>

namespace heddle::explore {
namespace {

/// Far more than a program of some dozens of operations takes.
constexpr std::uint64_t kTooManySteps = 5'000'000;

/// Who spins or yields lets so much time pass.
constexpr Scheduler::Nanoseconds kPause = 500;

/// No thread draws it.
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

}  // namespace

struct Scheduler::Thread {
  enum class State : std::uint8_t { kReady, kBlocked, kEnded };

  Fiber fiber;
  std::string name;
  std::function<void()> body;
  std::int64_t priority = 0;
  State state = State::kEnded;
  bool was_woken = false;
  const void* key = nullptr;
  Nanoseconds until = kForEver;
  std::vector<void*> locals;  ///< by the place of exchanges_
};

Scheduler* Scheduler::s_current = nullptr;

Scheduler::Scheduler() = default;
Scheduler::~Scheduler() = default;

void Scheduler::draw(const Plan& plan) {
  random_.seed(plan.seed);
  constexpr Nanoseconds kPerStep[] = {2, 20, 200};
  per_step_ = kPerStep[random_() % 3];
  changes_.clear();
  for (int i = 1; i < plan.depth; ++i) changes_.push_back(1 + random_() % plan.steps);
  std::sort(changes_.begin(), changes_.end(), std::greater<>());
  steps_ = switches_ = woken_ = 0;
  now_ = 0;
  next_wake_ = kForEver;
  lowest_ = 0;
  must_choose_ = false;
  stuck_.clear();
  count_ = 0;
}

Schedule Scheduler::run(const Plan& plan, std::function<void()> program) {
  draw(plan);
  Scheduler* const outer = std::exchange(s_current, this);
  start("program", std::move(program));
  running_ = threads_[0].get();
  Fiber::change(outside_, running_->fiber);
  s_current = outer;
  look_at_ = 0;
  return {steps_, switches_, stuck_};
}

std::size_t Scheduler::start(const std::string& name, std::function<void()> body) {
  if (count_ == threads_.size()) threads_.push_back(std::make_unique<Thread>());
  Thread& thread = *threads_[count_];
  thread.name = name;
  thread.priority = draw_priority();
  thread.state = Thread::State::kReady;
  thread.locals.assign(exchanges_.size(), nullptr);
  thread.body = std::move(body);
  thread.fiber.reset([this, &thread] {
    thread.body();
    thread.body = nullptr;
    end();
  });
  must_choose_ = true;
  return count_++;
}

/// The thread that runs is done.
void Scheduler::end() {
  running_->state = Thread::State::kEnded;
  wake_all(running_);
  go_on();
}

void Scheduler::join(std::size_t thread) {
  step();
  const Thread* const other = threads_.at(thread).get();  // not there in a forked child
  while (other->state != Thread::State::kEnded) block(other);
}

/// Above all that have fallen.
std::int64_t Scheduler::draw_priority() { return static_cast<std::int64_t>(random_() >> 2U); }

bool Scheduler::is_blocked(std::size_t thread) const {
  return threads_.at(thread)->state != Thread::State::kReady;
}

void Scheduler::step() {
  ++steps_;
  if (steps_ == look_at_) look_();
  now_ += per_step_;
  if (!changes_.empty() && steps_ >= changes_.back()) {
    changes_.pop_back();
    running_->priority = --lowest_;
    must_choose_ = true;
  }
  if (now_ >= next_wake_) wake_sleepers();
  if (must_choose_ || steps_ > kTooManySteps) go_on();
}

void Scheduler::relax() {
  now_ += kPause;
  if (now_ >= next_wake_) wake_sleepers();
  if (must_choose_) go_on();
}

void Scheduler::yield() {
  now_ += kPause;
  // Below all, or the one that it waits for may never go on; but not always, or who once waited
  // would come last ever after.
  running_->priority = random_() % 2 == 0 ? --lowest_ : draw_priority();
  must_choose_ = true;
  step();
}

bool Scheduler::block(const void* key, Nanoseconds until) {
  Thread& me = *running_;
  me.state = Thread::State::kBlocked;
  me.key = key;
  me.until = until;
  me.was_woken = false;
  next_wake_ = std::min(next_wake_, until);
  go_on();
  return me.was_woken;
}

void Scheduler::make_ready(Thread& thread) {
  thread.state = Thread::State::kReady;
  thread.key = nullptr;
  thread.until = kForEver;
  must_choose_ = true;
}

void Scheduler::wake(Thread& thread) {
  ++woken_;
  thread.was_woken = true;
  make_ready(thread);
}

void Scheduler::wake_one(const void* key) {
  Thread* chosen = nullptr;
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    Thread& thread = *threads_[i];
    if (thread.state != Thread::State::kBlocked || thread.key != key) continue;
    if (random_() % ++found == 0) chosen = &thread;
  }
  if (chosen == nullptr) return;
  wake(*chosen);
}

void Scheduler::wake_all(const void* key) {
  for (std::size_t i = 0; i < count_; ++i) {
    Thread& thread = *threads_[i];
    if (thread.state != Thread::State::kBlocked || thread.key != key) continue;
    wake(thread);
  }
}

void Scheduler::wake_first(const void* key) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (is_blocked(i) && threads_[i]->key == key) threads_[i]->priority = kHighest;
  }
  wake_all(key);
}

void Scheduler::wake_sleepers() {
  next_wake_ = kForEver;
  for (std::size_t i = 0; i < count_; ++i) {
    Thread& thread = *threads_[i];
    if (thread.state != Thread::State::kBlocked) continue;
    if (thread.until <= now_) {
      make_ready(thread);
    } else {
      next_wake_ = std::min(next_wake_, thread.until);
    }
  }
}

Scheduler::Thread* Scheduler::best() {
  Thread* best = nullptr;
  for (std::size_t i = 0; i < count_; ++i) {
    Thread& thread = *threads_[i];
    if (thread.state != Thread::State::kReady) continue;
    if (best == nullptr || thread.priority > best->priority) best = &thread;
  }
  return best;
}

/// Goes on in the first that is able to, which may be the one that runs.
void Scheduler::go_on() {
  must_choose_ = false;
  Thread* next = best();
  // More than once if who would have woken first was woken before its time.
  while (next == nullptr && next_wake_ != kForEver) {
    now_ = std::max(now_, next_wake_);
    wake_sleepers();
    must_choose_ = false;
    next = best();
  }
  if (next != nullptr && steps_ <= kTooManySteps) {
    if (next != running_) change(*next);
    return;
  }
  if (next != nullptr) {
    stuck_ = "no end in sight" + describe();
  } else if (!all_ended()) {
    stuck_ = "nobody can go on" + describe();
  }
  Fiber::change(running_->fiber, outside_);
}

bool Scheduler::all_ended() const {
  return std::all_of(threads_.begin(), threads_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [](const auto& thread) { return thread->state == Thread::State::kEnded; });
}

void Scheduler::change(Thread& to) {
  ++switches_;
  Thread& from = *std::exchange(running_, &to);
  for (std::size_t i = 0; i != exchanges_.size(); ++i) {
    from.locals[i] = exchanges_[i](to.locals[i]);
  }
  Fiber::change(from.fiber, to.fiber);
}

std::string Scheduler::describe() const {
  std::string text = ":";
  for (std::size_t i = 0; i < count_; ++i) {
    const Thread& thread = *threads_[i];
    text += "\n    " + thread.name;
    switch (thread.state) {
      case Thread::State::kReady:
        text += " could go on";
        break;
      case Thread::State::kBlocked:
        text += " waits";
        break;
      case Thread::State::kEnded:
        text += " has ended";
        break;
    }
  }
  return text;
}

}  // namespace heddle::explore
