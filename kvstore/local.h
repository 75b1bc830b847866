#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kvstore.h"

#include "kvstore/comm.h"
#include "kvstore/optimizer.h"
#include "kvstore/spares.h"

namespace heddle::kvstore {

/// The store of one process: keys, checks and updates. How arrays travel is left to its Comm.
///
/// Thread safety: every member may be called from any thread. One mutex is held for a whole call,
/// so that a call's operations stand together; it is recursive because the updater may call the
/// store. No operation takes it.
///
/// Invariants:
/// - All keys in values_ are of one kind, and a value is never removed.
/// - The shards of a value make up all its elements, in order. There is one until the first push,
///   and whenever an updater is called; a lone shard's array has the value's shape.
/// - Shards are on the devices that Comm::place() said, if `placed`.
/// - What is in a shard's `state` belongs to the optimizer whose number is in `state_of`.
class LocalStore final : public KVStore {
 public:
  LocalStore(std::string type, std::unique_ptr<Comm> comm);

  void set_updater(Updater updater) override;
  void set_optimizer(const Optimizer& optimizer) override;
  void set_gradient_compression(const CompressionOptions& options) override;
  std::string type() const override { return type_; }
  int rank() const override { return 0; }
  int num_workers() const override { return 1; }
  void barrier() override {}

 private:
  struct Shard {
    Part part;
    NDArray array;
    std::vector<NDArray> buffers;  // for the arrays of a push, by their place in it
    std::vector<NDArray> state;
    UpdateCounter steps;  // by the optimizer that the state is of
  };
  struct Value {
    Shape shape;
    DType dtype = DType::kFloat32;
    std::vector<Shard> shards;
    bool placed = false;
    bool in_recording = false;  // so its shards stay what they are
    std::uint64_t state_of = 0;
    Spares spares;  // ready for the next pulls
  };
  /// What one call does with one key.
  struct Group {
    const Key* key;
    Value* value;
    std::vector<const NDArray*> arrays;
  };

  void init_items(Items values) override;
  void push_items(Items values, int priority) override;
  void pull_items(Items outs, int priority) override;
  void pushpull_items(Items values, Items outs, int priority) override;
  void broadcast_items(Items values, Items outs, int priority) override;

  // Checks; they throw std::invalid_argument and change nothing.
  void check_new(std::string_view call, Items values) const;
  void check_kind(std::string_view call, const Key& key, bool strings) const;
  std::vector<Group> find(std::string_view call, Items items);
  std::vector<Group> find_for_push(std::string_view call, Items items);

  void add(const Key& key, const NDArray& value, int priority);
  void push_group(const Group& group, int priority);
  void pull_group(const Group& group, int priority);
  /// Where the value lies from this push on; nothing if it stays where it is.
  std::vector<Part> new_parts(const Value& value, std::span<const NDArray* const> pushed) const;
  void rebuild(Value& value, const std::vector<Part>& parts, int priority);
  void call_updater(const Key& key, Value& value, std::span<const NDArray* const> pushed,
                    int priority);
  void replace(Value& value, std::span<const NDArray* const> pushed, int priority);
  void optimize(Value& value, std::span<const NDArray* const> pushed, int priority);

  const std::string type_;
  std::recursive_mutex mutex_;

  // Guarded by mutex_.
  const std::unique_ptr<Comm> comm_;
  std::map<Key, Value> values_;
  std::shared_ptr<const Updater> updater_;
  std::optional<Optimizer> optimizer_;
  std::uint64_t optimizer_number_ = 0;
};

}  // namespace heddle::kvstore
