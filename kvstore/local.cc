#include "kvstore/local.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "heddle/error.h"

#include "engine/recorder.h"
#include "kvstore/sum.h"
#include "kvstore/transfer.h"

namespace heddle::kvstore {

namespace {

[[noreturn]] void refuse(std::string_view call, const std::string& what) {
  throw std::invalid_argument("[kvstore." + std::string(call) + "] " + what);
}

[[noreturn]] void refuse(std::string_view call, const Key& key, const std::string& what) {
  refuse(call, "key " + key.str() + ": " + what);
}

void check_items(std::string_view call, std::span<const detail::KeyedArrays> items) {
  if (items.empty()) refuse(call, "no keys: expected at least one");
  for (const auto& [key, arrays] : items) {
    if (arrays.empty()) refuse(call, *key, "no arrays: expected at least one");
    for (const NDArray& array : arrays) {
      if (!array) refuse(call, *key, "an NDArray that refers to nothing");
    }
  }
}

void check_like(std::string_view call, const Key& key, const NDArray& array, const Shape& shape,
                DType dtype) {
  if (array.shape() != shape) {
    refuse(call, key,
           "shape " + array.shape().str() + " where " + shape.str() + " was initialized");
  }
  if (array.dtype() != dtype) {
    refuse(call, key,
           std::string("type ") + dtype_name(array.dtype()) + " where " + dtype_name(dtype) +
               " was initialized");
  }
}

std::vector<Device> devices_of(std::span<const NDArray* const> arrays) {
  std::vector<Device> devices;
  for (const NDArray* array : arrays) devices.push_back(array->device());
  return devices;
}

}  // namespace

LocalStore::LocalStore(std::string type, std::unique_ptr<Comm> comm)
    : type_(std::move(type)), comm_(std::move(comm)) {}

void LocalStore::set_updater(Updater updater) {
  const std::lock_guard lock(mutex_);
  updater_ = updater ? std::make_shared<const Updater>(std::move(updater)) : nullptr;
  optimizer_.reset();
}

void LocalStore::set_optimizer(const Optimizer& optimizer) {
  check_optimizer(optimizer);
  const std::lock_guard lock(mutex_);
  updater_.reset();
  optimizer_ = optimizer;
  ++optimizer_number_;
}

void LocalStore::set_gradient_compression(const CompressionOptions& options) {
  constexpr const char* kCall = "[kvstore.set_gradient_compression] type ";
  if (options.type == "2bit" || options.type == "1bit") {
    throw Error(kCall + options.type + ": this build does not have it");
  }
  if (options.type != "none") {
    throw std::invalid_argument(kCall + ("'" + options.type) + "': expected none, 2bit or 1bit");
  }
}

void LocalStore::check_kind(std::string_view call, const Key& key, bool strings) const {
  if (key.is_string() == strings) return;
  refuse(call, key,
         strings ? "an integer where this store's keys are strings"
                 : "a string where this store's keys are integers");
}

void LocalStore::check_new(std::string_view call, Items values) const {
  check_items(call, values);
  const Key& first = values_.empty() ? *values.front().key : values_.begin()->first;
  std::vector<Key> keys;
  for (const auto& [key, arrays] : values) {
    check_kind(call, *key, first.is_string());
    if (values_.count(*key) != 0) refuse(call, *key, "is initialized already");
    keys.push_back(*key);
  }
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) refuse(call, *twice, "is initialized twice");
}

std::vector<LocalStore::Group> LocalStore::find(std::string_view call, Items items) {
  check_items(call, items);
  std::vector<Group> groups;
  std::unordered_map<const Value*, std::size_t> places;
  for (const auto& [key, arrays] : items) {
    if (!values_.empty()) check_kind(call, *key, values_.begin()->first.is_string());
    const auto found = values_.find(*key);
    if (found == values_.end()) refuse(call, *key, "is not initialized");
    Value& value = found->second;
    const auto [place, is_new] = places.try_emplace(&value, groups.size());
    if (is_new) groups.push_back({key, &value, {}});
    for (const NDArray& array : arrays) {
      check_like(call, *key, array, value.shape, value.dtype);
      groups[place->second].arrays.push_back(&array);
    }
  }
  return groups;
}

std::vector<LocalStore::Group> LocalStore::find_for_push(std::string_view call, Items items) {
  std::vector<Group> groups = find(call, items);
  for (const Group& group : groups) {
    if (group.value->in_recording && !new_parts(*group.value, group.arrays).empty()) {
      refuse(call, *group.key,
             "would move the value from where a recording uses it: push it once before recording");
    }
    const DType dtype = group.value->dtype;
    if (optimizer_ && dtype != DType::kFloat32 && dtype != DType::kFloat64) {
      refuse(
          call, *group.key,
          std::string("type ") + dtype_name(dtype) + ": the optimizer expects float32 or float64");
    }
  }
  return groups;
}

void LocalStore::init_items(Items values) {
  const std::lock_guard lock(mutex_);
  check_new("init", values);
  for (const auto& [key, arrays] : values) add(*key, arrays.front(), 0);
}

void LocalStore::push_items(Items values, int priority) {
  const std::lock_guard lock(mutex_);
  for (const Group& group : find_for_push("push", values)) push_group(group, priority);
}

void LocalStore::pull_items(Items outs, int priority) {
  const std::lock_guard lock(mutex_);
  for (const Group& group : find("pull", outs)) pull_group(group, priority);
}

void LocalStore::pushpull_items(Items values, Items outs, int priority) {
  const std::lock_guard lock(mutex_);
  const std::vector<Group> pushed = find_for_push("pushpull", values);
  const std::vector<Group> pulled = find("pushpull", outs);
  for (const Group& group : pushed) push_group(group, priority);
  for (const Group& group : pulled) pull_group(group, priority);
}

void LocalStore::broadcast_items(Items values, Items outs, int priority) {
  const std::lock_guard lock(mutex_);
  check_new("broadcast", values);
  check_items("broadcast", outs);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const NDArray& value = values[i].arrays.front();
    for (const NDArray& out : outs[i].arrays) {
      check_like("broadcast", *values[i].key, out, value.shape(), value.dtype());
    }
  }
  for (const auto& [key, arrays] : values) add(*key, arrays.front(), priority);
  for (const Group& group : find("broadcast", outs)) pull_group(group, priority);
}

void LocalStore::add(const Key& key, const NDArray& value, int priority) {
  const Device home = comm_->home(value.device());
  const NDArray kept(value.shape(), home, value.dtype());
  push_transfer(value, kept, priority);
  Value& entry = values_[key];
  entry.shape = value.shape();
  entry.dtype = value.dtype();
  entry.in_recording = is_recorded();
  if (entry.in_recording) entry.spares.give_up();
  entry.shards.push_back({{0, value.size(), home}, kept, {}, {}, {}});
}

void LocalStore::push_group(const Group& group, int priority) {
  Value& value = *group.value;
  const std::vector<Part> parts = new_parts(value, group.arrays);
  if (!parts.empty()) rebuild(value, parts, priority);
  value.placed = true;
  value.in_recording = value.in_recording || is_recorded();
  if (updater_ != nullptr || is_recorded()) {
    value.spares.give_up();
  } else if (!optimizer_) {
    value.spares.drop();
  }
  if (updater_ != nullptr) {
    call_updater(*group.key, value, group.arrays, priority);
  } else if (optimizer_) {
    optimize(value, group.arrays, priority);
  } else {
    replace(value, group.arrays, priority);
  }
}

void LocalStore::pull_group(const Group& group, int priority) {
  Value& value = *group.value;
  value.in_recording = value.in_recording || is_recorded();
  std::vector<NDArray> parts;
  for (const Shard& shard : value.shards) parts.push_back(shard.array);
  for (const NDArray* out : group.arrays) {
    if (!value.spares.pull(parts, *out, priority)) comm_->broadcast(parts, *out, priority);
  }
}

std::vector<Part> LocalStore::new_parts(const Value& value,
                                        std::span<const NDArray* const> pushed) const {
  const bool whole = updater_ != nullptr;
  std::vector<Part> parts;
  if (!value.placed) {
    parts = comm_->place(value.shape.size(), dtype_size(value.dtype), devices_of(pushed), !whole);
  } else if (whole && value.shards.size() > 1) {
    parts = {{0, value.shape.size(), value.shards.front().part.device}};
  }
  const bool stays = parts.size() == 1 && value.shards.size() == 1 &&
                     parts[0].device == value.shards[0].array.device();
  return stays ? std::vector<Part>() : parts;
}

void LocalStore::rebuild(Value& value, const std::vector<Part>& parts, int priority) {
  // Once, not in each run: the runs go on from what is there.
  const detail::PauseRecording pause;
  std::vector<NDArray> old;
  for (const Shard& shard : value.shards) old.push_back(shard.array);
  value.spares.drop();

  const bool is_replaced = updater_ == nullptr && !optimizer_;
  std::vector<Shard> shards;
  for (const Part& part : parts) {
    const Shape shape = parts.size() == 1 ? value.shape : Shape{part.size};
    const NDArray array(shape, part.device, value.dtype);
    if (!is_replaced && old.size() == 1) push_transfer(Comm::slice(old[0], part), array, priority);
    if (!is_replaced && old.size() > 1) push_join(old, array, priority);
    shards.push_back({part, array, {}, {}, {}});
  }
  value.shards = std::move(shards);
}

void LocalStore::replace(Value& value, std::span<const NDArray* const> pushed, int priority) {
  for (Shard& shard : value.shards) {
    push_sum(comm_->gather(shard.part, pushed, shard.buffers, priority), shard.array, priority);
  }
}

void LocalStore::optimize(Value& value, std::span<const NDArray* const> pushed, int priority) {
  if (value.state_of != optimizer_number_) {
    const detail::PauseRecording pause;
    for (Shard& shard : value.shards) {
      shard.state = make_state(*optimizer_, shard.array);
      shard.steps = std::make_shared<UpdateCounter::element_type>(0);
    }
    value.state_of = optimizer_number_;
  }
  const std::vector<std::shared_ptr<detail::Storage>> spares = value.spares.blocks();
  for (Shard& shard : value.shards) {
    const std::size_t begin = static_cast<std::size_t>(shard.part.begin) * dtype_size(value.dtype);
    std::vector<SpareRange> copies;
    copies.reserve(spares.size());
    for (const auto& block : spares) copies.push_back({block, begin});
    push_update(*optimizer_, shard.steps,
                comm_->gather(shard.part, pushed, shard.buffers, priority), shard.array,
                shard.state, std::move(copies), priority);
  }
  value.spares.filled();
}

void LocalStore::call_updater(const Key& key, Value& value, std::span<const NDArray* const> pushed,
                              int priority) {
  Shard& shard = value.shards.front();
  // An array of its own for each push: the updater may keep it, even as the stored one.
  const NDArray received(value.shape, shard.part.device, value.dtype);
  push_sum(comm_->gather(shard.part, pushed, shard.buffers, priority), received, priority);

  NDArray stored = shard.array;
  const std::shared_ptr<const Updater> updater = updater_;  // it may set another one
  (*updater)(key, received, stored);
  if (!stored) refuse("push", key, "the updater left no array");
  check_like("push", key, stored, value.shape, value.dtype);
  if (stored.device() != shard.part.device) shard.buffers.clear();
  shard.part.device = stored.device();
  shard.array = stored;
}

}  // namespace heddle::kvstore
