#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/faults/runs.h"
#include "tests/faults/seeds.h"

// Operations, and destructors of their callables, that throw whatever can be thrown: each throw is
// the error of its operation, told once, and of no other.

namespace heddle::faults {
namespace {

/// Cannot be copied.
class Uncopyable : public std::exception {
 public:
  Uncopyable() = default;
  Uncopyable(const Uncopyable& other) : std::exception(other) {
    throw std::runtime_error("the copy failed");
  }
  Uncopyable& operator=(const Uncopyable&) = delete;
  const char* what() const noexcept override { return "uncopyable"; }
};

/// Has no text.
class Mute : public std::exception {
 public:
  const char* what() const noexcept override { return nullptr; }
};

struct Thing {
  std::string text;
};

using Throw = void (*)();

void throw_pointer() {
  static const int pointed = 1;
  throw &pointed;
}
void throw_copy_of_uncopyable() {
  const Uncopyable original;
  throw original;  // NOLINT: its copy throws something else
}
void throw_nested() {
  try {
    throw std::logic_error("inner");
  } catch (...) {
    std::throw_with_nested(std::runtime_error("outer"));
  }
}

constexpr std::array<Throw, 10> kThrows = {
    [] { throw std::runtime_error("an error"); },
    [] { throw std::bad_alloc(); },
    [] { throw 7; },
    throw_pointer,
    [] { throw Thing{"a thing"}; },
    [] { throw Uncopyable(); },
    throw_copy_of_uncopyable,
    [] { throw Mute(); },
    [] { throw std::invalid_argument(std::string(100000, 'x')); },
    throw_nested,
};
constexpr int kKinds = static_cast<int>(kThrows.size());

/// True if `cause` is what kThrows[kind] throws.
bool is_of_kind(const std::exception_ptr& cause, std::size_t kind) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::bad_alloc&) {
    return kind == 1;
  } catch (int number) {
    return kind == 2 && number == 7;
  } catch (const int*) {
    return kind == 3;
  } catch (const Thing& thing) {
    return kind == 4 && thing.text == "a thing";
  } catch (const Uncopyable&) {
    return kind == 5;
  } catch (const Mute&) {
    return kind == 7;
  } catch (const std::invalid_argument&) {
    return kind == 8;
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    return (kind == 0 && text == "an error") || (kind == 6 && text == "the copy failed") ||
           (kind == 9 && text == "outer");
  }
}

/// Throws when it is destroyed, unless it was moved from.
template <std::size_t kBytes>
class ThrowingEnd {
 public:
  explicit ThrowingEnd(Throw end) : end_(end) {}
  ThrowingEnd(ThrowingEnd&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  ThrowingEnd& operator=(ThrowingEnd&&) = delete;
  ThrowingEnd(const ThrowingEnd&) = delete;
  ThrowingEnd& operator=(const ThrowingEnd&) = delete;
  ~ThrowingEnd() noexcept(false) {  // NOLINT: that it throws is the point
    if (end_ != nullptr) end_();
  }
  void operator()() const { static_cast<void>(bytes_); }
  /// For push_async: keeps no completion.
  void operator()(RunContext& /*context*/, Completion /*dropped*/) const {}

 private:
  Throw end_;
  std::array<std::byte, kBytes> bytes_{};
};

/// For delete_variable: throws when it is called.
struct ThrowingCall {
  Throw fault;
  void operator()() const { fault(); }
};

/// The last operation of a variable throws, or what it calls does when it is destroyed.
std::uint64_t delete_throwing(Engine& engine, Throw fault, bool at_end) {
  const std::uint64_t before = engine.push([] {}, {}, {});
  const Var gone = engine.new_variable();
  if (at_end) {
    engine.delete_variable(gone, ThrowingEnd<8>(fault));
  } else {
    engine.delete_variable(gone, ThrowingCall{fault});
  }
  return before + 1;
}

std::uint64_t push_throwing(Engine& engine, Throw fault, const Var& x, int form) {
  const PushOptions options{.overwrites = true};
  switch (form) {
    case 0:
      return engine.push(ThrowingEnd<8>(fault), {}, {x}, options);
    case 1:
      return engine.push(ThrowingEnd<200>(fault), {}, {x}, options);
    case 2:
      return engine.push_async([fault](RunContext&, Completion) { fault(); }, {}, {x}, options);
    case 3:
      return engine.push_async(
          [fault](RunContext&, Completion completion) {
            try {
              fault();
            } catch (...) {
              completion.fail(std::current_exception());
            }
          },
          {}, {x}, options);
    case 4:
      return engine.push_async(ThrowingEnd<8>(fault), {}, {x}, options);
    case 5:
      return engine.push_async(ThrowingEnd<200>(fault), {}, {x}, options);
    default:
      return engine.push([fault] { fault(); }, {}, {x}, options);
  }
}

void run_throwing(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  Engine engine(any_engine(seed));
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  std::vector<std::pair<std::uint64_t, std::size_t>> thrown;  // by number, what
  std::uint64_t skipped = 0;
  std::uint64_t deleted = 0;
  for (int i = 0; i < 60; ++i) {
    const auto kind = static_cast<std::size_t>(random.below(kKinds));
    const bool on_x = random.one_in(2);
    const std::uint64_t number =
        push_throwing(engine, kThrows[kind], on_x ? x : y, random.below(8));
    thrown.emplace_back(number, kind);
    if (random.one_in(5)) {
      thrown.emplace_back(delete_throwing(engine, kThrows[kind], random.one_in(2)), kind);
      ++deleted;
    }
    if (random.one_in(3)) {  // skipped, and it throws when it is destroyed: nobody's error
      engine.push(ThrowingEnd<8>(kThrows[kind]), {on_x ? x : y}, {});
      ++skipped;
    }
  }
  std::vector<OpError> errors;
  try {
    engine.wait_for_all();
  } catch (const AggregateError& error) {
    errors = error.errors();
  }
  REQUIRE(errors.size() == thrown.size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    CHECK(errors[i].sequence() == thrown[i].first);
    CHECK(is_of_kind(errors[i].cause(), thrown[i].second));
  }
  CHECK_NOTHROW(engine.wait_for_all());
  const ShutdownReport report = engine.shutdown();
  CHECK(report.failed == thrown.size() + skipped);
  CHECK(report.completed == deleted);  // what was pushed before each deletion
  tally.add("throws", thrown.size());
  tally.add("skipped operations with a throwing destructor", skipped);
  tally.add_run();
}

TEST_CASE("whatever operations and destructors of callables throw is told once as it was thrown") {
  Tally tally("3 and 5 operations and destructors that throw anything");
  for_seeds(runs(300), [&](std::uint64_t seed) { run_throwing(seed, tally); });
}

}  // namespace
}  // namespace heddle::faults
