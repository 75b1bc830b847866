#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/ndarray.h"

namespace heddle {

namespace detail {
template <class T>
inline constexpr bool kIsCharacter =
    std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t>;
}  // namespace detail

/// Names a value in a store: an int or a string. Integers order before strings.
class Key {
 public:
  /// Throws std::invalid_argument if `number` does not fit an int.
  template <std::integral T>
  requires(!std::same_as<T, bool> && !detail::kIsCharacter<T>)
      Key(T number) {  // NOLINT(google-explicit-constructor)
    if (std::in_range<int>(number)) {
      name_ = static_cast<int>(number);
    } else {
      refuse_number(std::to_string(number));
    }
  }
  template <class T>
  requires(std::same_as<T, bool> || detail::kIsCharacter<T>) Key(T)
  = delete;
  Key(std::nullptr_t) = delete;

  Key(const char* name);       // NOLINT(google-explicit-constructor)
  Key(std::string_view name);  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  Key(std::string name) : name_(std::move(name)) {}

  bool is_string() const { return std::holds_alternative<std::string>(name_); }
  /// The number in decimal, or the string.
  std::string str() const;

  friend bool operator==(const Key&, const Key&) = default;
  friend auto operator<=>(const Key&, const Key&) = default;

 private:
  [[noreturn]] static void refuse_number(const std::string& number);

  std::variant<int, std::string> name_;
};

/// w -= lr * (g + weight_decay * w), through a velocity if there is momentum: sgd_update and
/// sgd_mom_update of heddle/ops.h.
struct Sgd {
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
};

/// adam_update of heddle/ops.h; its step counts the pushes of a key.
struct Adam {
  double lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

namespace detail {
/// What a call gives for a key; a call may do so several times for one key.
struct KeyedArrays {
  const Key* key;
  std::span<const NDArray> arrays;
};
}  // namespace detail

/// How a store updates a value from the sum of what is pushed.
using Optimizer = std::variant<Sgd, Adam>;

struct CompressionOptions {
  std::string type = "none";  ///< "none"; "2bit" and "1bit" are not in this build
  float threshold = 0.5F;
};

/// Keeps one value per key, sums what several devices push to it and hands it back to them.
///
/// A push sums its arrays in the order in which they are given, so results do not depend on the
/// type of the store, the devices or the number of threads. The sum then replaces the value, or
/// updates it if an updater or an optimizer is set. Arrays of one call may lie on any devices, also
/// several on one, and other ones in each call. The store never keeps the caller's arrays: it
/// copies out of them and into them, at the call's place in the program.
///
/// Every call pushes operations with the given priority and returns; none waits for them. An array
/// that is poisoned when it is pushed poisons the value, and so whoever pulls it; a push that
/// replaces the value heals it.
///
/// Errors: a key that is initialized twice or not at all, integers mixed with strings, no arrays,
/// lists of unequal lengths, a shape or type that is not that of the value: std::invalid_argument,
/// with nothing pushed or changed by the call.
///
/// Calls may be recorded (Engine::record). What the store sets up by the way, as the state of an
/// optimizer or the parts in which a value lies, is set up at once, and not in each run. After a
/// recording has used a key, a push that would move its value, mostly the first one, is
/// std::invalid_argument: push once before recording.
///
/// Thread safety: every member may be called from any thread, but not inside an operation; calls on
/// one store take place one after the other. The updater may call the store.
class KVStore {
 public:
  /// Called once per key and push, on the pushing thread. Pushes operations that change `stored`,
  /// or gives it another array of the same shape and type. What it throws leaves the push, and the
  /// keys that stand behind in the same call are not pushed.
  using Updater = std::function<void(const Key&, const NDArray& received, NDArray& stored)>;

  /// "local" sums on the CPU, "device" on the devices that push. "device_tree", "nccl",
  /// "dist_sync", "dist_async", "dist_device_sync", "dist_device_async", "dist_sync_device" and
  /// "dist_async_device" throw Error: this build does not have them. Any other name is
  /// std::invalid_argument.
  static std::unique_ptr<KVStore> create(const std::string& type);

  virtual ~KVStore() = default;
  KVStore(const KVStore&) = delete;
  KVStore& operator=(const KVStore&) = delete;

  // In the forms with std::vector<Key>, lists are of one length; equal keys of one call form one
  // group, as if its arrays had been given in one list, in their order.

  void init(const Key& key, const NDArray& value);
  void init(const std::vector<Key>& keys, const std::vector<NDArray>& values);

  void push(const Key& key, const NDArray& value, int priority = 0);
  void push(const Key& key, const std::vector<NDArray>& values, int priority = 0);
  void push(const std::vector<Key>& keys, const std::vector<NDArray>& values, int priority = 0);
  void push(const std::vector<Key>& keys, const std::vector<std::vector<NDArray>>& groups,
            int priority = 0);

  // On a simulated GPU with plenty of room, a value that is pulled after every push of an optimizer
  // takes its memory once more.
  void pull(const Key& key, NDArray out, int priority = 0);
  void pull(const Key& key, const std::vector<NDArray>& outs, int priority = 0);
  void pull(const std::vector<Key>& keys, const std::vector<NDArray>& outs, int priority = 0);
  void pull(const std::vector<Key>& keys, const std::vector<std::vector<NDArray>>& groups,
            int priority = 0);

  /// push, then pull. `outs` may be `values`.
  void pushpull(const Key& key, const NDArray& value, NDArray out, int priority = 0);
  void pushpull(const Key& key, const std::vector<NDArray>& values,
                const std::vector<NDArray>& outs, int priority = 0);
  void pushpull(const std::vector<Key>& keys, const std::vector<NDArray>& values,
                const std::vector<NDArray>& outs, int priority = 0);
  void pushpull(const std::vector<Key>& keys, const std::vector<std::vector<NDArray>>& groups,
                const std::vector<std::vector<NDArray>>& outs, int priority = 0);

  /// init, then pull.
  void broadcast(const Key& key, const NDArray& value, NDArray out, int priority = 0);
  void broadcast(const Key& key, const NDArray& value, const std::vector<NDArray>& outs,
                 int priority = 0);
  void broadcast(const std::vector<Key>& keys, const std::vector<NDArray>& values,
                 const std::vector<NDArray>& outs, int priority = 0);
  void broadcast(const std::vector<Key>& keys, const std::vector<NDArray>& values,
                 const std::vector<std::vector<NDArray>>& outs, int priority = 0);

  /// From the next push on. An updater replaces an optimizer and the other way round; an empty
  /// updater removes both. State of an optimizer (momentum, …) starts from zero.
  virtual void set_updater(Updater updater) = 0;
  /// Values are then of float32 or float64. A parameter that is not finite, an epsilon below 0, or
  /// a beta outside [0, 1): std::invalid_argument.
  virtual void set_optimizer(const Optimizer& optimizer) = 0;
  /// "none". "2bit" and "1bit" throw Error: this build does not have them. Any other type is
  /// std::invalid_argument.
  virtual void set_gradient_compression(const CompressionOptions& options) = 0;

  /// The name given to create().
  virtual std::string type() const = 0;
  /// Which of the num_workers() this process is, from 0 on; 0 of 1 in a store that is not
  /// distributed.
  virtual int rank() const = 0;
  virtual int num_workers() const = 0;
  /// Blocks until every worker has called it: with one worker, not at all. Does not wait for
  /// operations.
  virtual void barrier() = 0;

 protected:
  KVStore() = default;

  using Items = std::span<const detail::KeyedArrays>;

 private:
  virtual void init_items(Items values) = 0;
  virtual void push_items(Items values, int priority) = 0;
  virtual void pull_items(Items outs, int priority) = 0;
  virtual void pushpull_items(Items values, Items outs, int priority) = 0;
  virtual void broadcast_items(Items values, Items outs, int priority) = 0;
};

}  // namespace heddle
