#include "engine/ledger.h"

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/var_state.h"
#include "tests/relacy/simulate.h"
#include "tests/relacy/stub_engine.h"

namespace heddle::relacy {
namespace {

using detail::Awaited;
using detail::Operation;
using detail::ReadyList;
using detail::VarState;
using detail::Waiter;

/// A ledger with room for so many operations, and workers with a mailbox each.
template <int kWorkers>
struct Book {
  explicit Book(std::size_t max_pending) : ledger(engine, max_pending) {
    for (detail::Mailbox*& mailbox : mailboxes) mailbox = &ledger.new_mailbox();
    for (Var& var : vars) var = detail::EngineCore::handle(new VarState(StubEngine::kId, "v"));
    for (const Var& var : vars) detail::release(VarRef(var).state());
  }

  /// False if there is no place.
  bool push(int var, detail::Submission::Admission admission, ReadyList& ready) {
    const std::vector<Var> mutated{vars[static_cast<unsigned>(var)]};
    const PushOptions options;
    detail::Submission submission;
    submission.mutates = mutated;
    submission.options = &options;
    submission.admission = admission;
    return ledger.push(submission, detail::Route(), ready);
  }

  /// The operation, which is ready, as it is the first of its variable.
  Operation* push_first(int var) {
    ReadyList ready;
    push(var, detail::Submission::Admission::kForced, ready);
    return ready.pop();
  }

  /// As WorkerPool::end(), with no end deferred.
  void end(int worker, Operation& op, ReadyList& ready) {
    if (ledger.post(*mailboxes[static_cast<unsigned>(worker)], op, ready) == Awaited::kNo) return;
    ledger.collect_or_leave(ready, [](ReadyList& /*list*/) {});
  }

  StubEngine engine;
  detail::Ledger ledger;
  std::array<Var, kWorkers> vars;
  std::array<detail::Mailbox*, kWorkers> mailboxes{};
};

/// As ThreadedEngine::wait(), but for its looks: nothing may depend on these.
void wait(detail::Ledger& ledger, Waiter& waiter) {
  waiter.wait([] { return false; });
  ledger.end_wait(/*for_var=*/true);
}

/// Workers that run an operation each, and a thread that waits for the last one's variable.
template <int kWorkers>
struct Waiting : rl::test_suite<Waiting<kWorkers>, kWorkers + 1> {
  std::unique_ptr<Book<kWorkers>> book = std::make_unique<Book<kWorkers>>(8);
  std::array<Operation*, kWorkers> ops{};
  std::array<Plain<int>, kWorkers> written;

  void before() {
    for (int i = 0; i != kWorkers; ++i) ops[static_cast<unsigned>(i)] = book->push_first(i);
  }
  void thread(unsigned index) {
    ReadyList ready;
    if (index != kWorkers) {
      written[index] = 1;
      book->end(static_cast<int>(index), *ops[index], ready);
      return;
    }
    for (unsigned var = kWorkers; var-- != 0;) {
      Waiter waiter;
      VarState* const state = VarRef(book->vars[var]).state();
      if (book->ledger.begin_wait(state, true, waiter, ready)) wait(book->ledger, waiter);
      check(written[var] == 1, "not all that the operation wrote is there");
    }
  }
};

/// A worker that runs an operation, and a thread that pushes one that needs it.
struct Following : rl::test_suite<Following, 2> {
  std::unique_ptr<Book<1>> book = std::make_unique<Book<1>>(8);
  Operation* op = nullptr;
  Plain<int> written{0};
  Plain<int> released{0};

  void before() { op = book->push_first(0); }
  void thread(unsigned index) {
    ReadyList ready;
    if (index == 0) {
      written = 1;
      book->end(0, *op, ready);
    } else {
      book->push(0, detail::Submission::Admission::kForced, ready);
    }
    Operation* const next = ready.pop();
    if (next == nullptr) return;
    check(written == 1, "not all that the operation before wrote is there");
    released = released + 1;
    book->ledger.end(*next, ready);
  }
  void after() { check(released == 1, "not made ready once"); }
};

/// A worker that runs an operation, and threads for which there is no room before it has ended, as
/// ThreadedEngine::submit() and wait_for_room() do.
struct Blocking : rl::test_suite<Blocking, 3> {
  std::unique_ptr<Book<1>> book = std::make_unique<Book<1>>(1);
  Operation* op = nullptr;
  Plain<int> pushed{0};

  void before() { op = book->push_first(0); }
  void thread(unsigned index) {
    ReadyList ready;
    if (index == 0) {
      book->end(0, *op, ready);
      return;
    }
    auto admission = detail::Submission::Admission::kBlock;
    while (!book->push(0, admission, ready)) {
      check(book->ledger.limit().wait_for_room(
                [&] { return book->ledger.try_admit(ready, /*forced=*/false); }),
            "turned away");
      admission = detail::Submission::Admission::kAdmitted;
    }
    while (Operation* const next = ready.pop()) book->ledger.end(*next, ready);
  }
  void after() { check(book->ledger.limit().pending() == 0, "something is pending for ever"); }
};

/// The same, with a lock and a mailbox for one end in the place of the ledger, whose other locks
/// Relacy takes for fences.
struct Line : rl::test_suite<Line, 2> {
  struct State {
    State() { limit.take(); }
    detail::PendingLimit limit{1};
    base::SpinLock lock;
    base::Atomic<int> posted{0};
    Plain<bool> noted{false};
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index == 0) {
      state->posted.fetch_add(1);
      if (state->limit.has_line()) collect();
    } else {
      state->limit.wait_for_room([this] {
        collect();
        return state->limit.has_room();
      });
    }
  }
  void collect() {
    bool tells = false;
    {
      const std::lock_guard held(state->lock);
      if (state->posted.load() != 0 && !state->noted) {
        state->noted = true;
        state->limit.give_back();
        tells = state->limit.worth_telling();
      }
    }
    if (tells) state->limit.tell();
  }
};

/// A worker that runs an operation, and a thread that waits until nothing is pending.
struct Draining : rl::test_suite<Draining, 2> {
  std::unique_ptr<Book<1>> book = std::make_unique<Book<1>>(8);
  Operation* op = nullptr;

  void before() { op = book->push_first(0); }
  void thread(unsigned index) {
    ReadyList ready;
    if (index == 0) {
      book->end(0, *op, ready);
      book->ledger.collect(ready);  // as a worker does before it sleeps
    } else {
      book->ledger.limit().wait_until_empty(base::Clock::time_point::max(),
                                            [&] { return book->ledger.ended(ready).places; });
    }
  }
};

}  // namespace

TEST_CASE("ledger: who waits for a variable is woken when its operation has been posted") {
  require_holds<Waiting<1>>(20'000);
  require_holds<Waiting<2>>(20'000);
}

TEST_CASE("ledger: what follows a posted operation becomes ready, once") {
  require_holds<Following>(20'000);
}

TEST_CASE("ledger: who waits for room, or until nothing is pending, is told") {
  require_holds<Blocking>(20'000);
  require_holds<Line>(20'000);
  require_holds<Draining>(20'000);
}

TEST_CASE("ledger: the orders on which this depends are found if they are weaker") {
  // Who posts reads whether somebody waits, and who waits says so before it looks.
  require_vital_found<Waiting<1>>(
      "engine/ledger.cc", 20'000,
      {"post_use: load seq_cst -> acquire", "post_use: load seq_cst -> relaxed"});
  require_weaker_found<Waiting<1>>("engine/tracker.cc", 20'000);
  require_vital_found<Line>(
      "engine/pending_limit.cc", 20'000,
      {"InLine: update seq_cst -> acq_rel", "InLine: update seq_cst -> relaxed"});
  require_vital_found<Line>(
      "engine/pending_limit.h", 20'000,
      {"blocked: load seq_cst -> acquire", "blocked: load seq_cst -> relaxed"});
}

}  // namespace heddle::relacy
