#include "tests/support/array_program.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/heddle.h"

#include "tests/support/watchdog.h"

namespace heddle::support {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::size_t kMostArrays = 24;  // of a script at a time

// Wrap, as the elements of arrays do.
std::int64_t add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t subtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// An array of one axis, or a view of another one's elements, and what these have to be.
struct Twin {
  std::size_t size() const { return static_cast<std::size_t>(array.size()); }
  Values::iterator begin() const { return block->begin() + static_cast<std::ptrdiff_t>(offset); }
  Values::iterator end() const { return begin() + array.size(); }

  NDArray array;
  std::shared_ptr<Values> block;  // shared by views
  std::size_t offset = 0;
};

Twin twin_of(NDArray array, Values values) {
  return {std::move(array), std::make_shared<Values>(std::move(values)), 0};
}

/// What one thread does.
class Script {
 public:
  explicit Script(std::uint64_t seed) : random_(seed) {
    for (int id = 0; id < num_gpus(); ++id) devices_.push_back(Device::gpu(id));
    devices_.push_back(Device::cpu());
  }

  /// What differs first, or "".
  std::string run(int steps) {
    for (int i = 0; i < steps && failure_.empty(); ++i) {
      step();
      if (i % 1000 == 0) watchdog::progress();
    }
    for (const Twin& twin : twins_) check(twin);
    return failure_;
  }

 private:
  void step() {
    if (twins_.empty()) return make();
    if (twins_.size() > kMostArrays) return free_one();
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
        return make();
      case 3:
      case 4:
      case 5:
        return compute_new();
      case 6:
      case 7:
      case 8:
        return compute_in_place();
      case 9:
      case 10:
      case 11:
        return copy_part();
      case 12:
        return move_to_another();
      case 13:
        return keep_view();
      case 14:
        return replace();
      default:
        return pick(3) == 0 ? check(any()) : free_one();
    }
  }

  void make() {
    const Device where = any_device();
    const auto size = static_cast<std::int64_t>(any_size());
    const auto first = static_cast<std::int64_t>(random_());
    Values values(static_cast<std::size_t>(size), first);
    NDArray array;
    switch (pick(3)) {
      case 0:
        array = NDArray::full({size}, first, where, DType::kInt64);
        break;
      case 1:
        array = NDArray::arange(0, size, 1, where, DType::kInt64);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
        break;
      default:
        for (std::int64_t& value : values) value = static_cast<std::int64_t>(random_());
        array = NDArray::from(values, {size}, where);
    }
    twins_.push_back(twin_of(std::move(array), std::move(values)));
  }

  /// Views as long as each other, perhaps of one array.
  std::pair<Twin, Twin> two_views() {
    const Twin& a = any();
    const Twin& b = any();
    const std::size_t size = 1 + pick(std::min(a.size(), b.size()));
    return {view(a, size), view(b, size)};
  }

  void compute_new() {
    const auto [a, b] = two_views();
    const NDArray there = b.array.to(a.array.device());
    Values values(a.size());
    NDArray array;
    switch (pick(4)) {
      case 0:
        array = a.array + there;
        std::transform(a.begin(), a.end(), b.begin(), values.begin(), add);
        break;
      case 1:
        array = a.array - there;
        std::transform(a.begin(), a.end(), b.begin(), values.begin(), subtract);
        break;
      case 2:
        array = a.array * there;
        std::transform(a.begin(), a.end(), b.begin(), values.begin(), multiply);
        break;
      default:
        array = a.array * 3;
        std::transform(a.begin(), a.end(), values.begin(),
                       [](std::int64_t value) { return multiply(value, 3); });
    }
    twins_.push_back(twin_of(std::move(array), std::move(values)));
  }

  void compute_in_place() {
    auto [a, b] = two_views();
    const Values operand(b.begin(), b.end());
    const NDArray there = a.block == b.block ? b.array.copy() : b.array.to(a.array.device());
    if (pick(2) == 0) {
      a.array += there;
      std::transform(a.begin(), a.end(), operand.begin(), a.begin(), add);
    } else {
      a.array *= there;
      std::transform(a.begin(), a.end(), operand.begin(), a.begin(), multiply);
    }
  }

  void copy_part() {
    const auto [to, from] = two_views();
    const Values moved(from.begin(), from.end());
    to.array.copy_from(from.array);
    std::copy(moved.begin(), moved.end(), to.begin());
  }

  void move_to_another() {
    Twin& twin = any();
    const Device from = twin.array.device();
    Device to = any_device();
    while (to == from) to = any_device();
    twin = twin_of(twin.array.to(to), Values(twin.begin(), twin.end()));
  }

  void keep_view() {
    const Twin& base = any();
    Twin part = view(base, 1 + pick(base.size()));
    part.array += 1;
    for (std::int64_t& value : part) value = add(value, 1);
    twins_.push_back(std::move(part));
  }

  void replace() {
    Twin& twin = any();
    twin = twin_of(twin.array.copy(), Values(twin.begin(), twin.end()));
  }

  void free_one() {
    std::swap(any(), twins_.back());
    twins_.pop_back();
  }

  void check(const Twin& twin) {
    if (!failure_.empty()) return;
    const Values seen = twin.array.to_vector<std::int64_t>();
    const auto [here, there] = std::mismatch(seen.begin(), seen.end(), twin.begin());
    if (here == seen.end()) return;
    failure_ = "element " + std::to_string(here - seen.begin()) + " of " +
               std::to_string(seen.size()) + " on " + twin.array.device().str() + " is " +
               std::to_string(*here) + ", expected " + std::to_string(*there);
  }

  Twin view(const Twin& base, std::size_t size) {
    const std::size_t begin = pick(base.size() - size + 1);
    const auto first = static_cast<std::int64_t>(begin);
    return {base.array.slice(first, first + static_cast<std::int64_t>(size)), base.block,
            base.offset + begin};
  }

  std::size_t pick(std::size_t count) { return random_() % count; }
  Twin& any() { return twins_[pick(twins_.size())]; }
  Device any_device() { return devices_[pick(devices_.size())]; }
  /// Each power of two as likely as the others, up to 4096; a few are much larger.
  std::size_t any_size() { return 1 + pick(std::size_t{1} << (pick(200) == 0 ? 16 : pick(13))); }

  std::mt19937_64 random_;
  std::vector<Device> devices_;
  std::vector<Twin> twins_;
  std::string failure_;
};

}  // namespace

std::string check_arrays(const ArrayProgram& program) {
  std::vector<std::string> failures(static_cast<std::size_t>(program.threads));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    threads.emplace_back([&program, &failure = failures[i], i] {
      try {
        failure = Script(program.seed * 1000 + i).run(program.steps_per_thread);
      } catch (const std::exception& error) {
        failure = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].empty()) continue;
    return "seed " + std::to_string(program.seed) + ", " + std::to_string(program.threads) +
           " threads, " + std::to_string(program.steps_per_thread) + " steps: thread " +
           std::to_string(i) + ": " + failures[i];
  }
  return {};
}

}  // namespace heddle::support
