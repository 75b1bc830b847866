#include "heddle/kvstore.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "heddle/error.h"

#include "kvstore/comm_cpu.h"
#include "kvstore/comm_device.h"
#include "kvstore/local.h"

namespace heddle {

namespace {

using detail::KeyedArrays;

constexpr std::array<std::string_view, 2> kTypes = {"local", "device"};
constexpr std::array<std::string_view, 8> kTypesToCome = {"device_tree",      "nccl",
                                                          "dist_sync",        "dist_async",
                                                          "dist_device_sync", "dist_device_async",
                                                          "dist_sync_device", "dist_async_device"};

std::string all_types() {
  std::string list;
  for (const std::string_view type : kTypes) list.append(list.empty() ? "" : ", ").append(type);
  for (const std::string_view type : kTypesToCome) list.append(", ").append(type);
  return list;
}

void check_lengths(std::string_view call, std::size_t keys, std::size_t others,
                   std::string_view what) {
  if (keys == others) return;
  throw std::invalid_argument("[kvstore." + std::string(call) + "] " + std::to_string(keys) +
                              " keys and " + std::to_string(others) + " " + std::string(what) +
                              ": expected as many");
}

std::vector<KeyedArrays> pair_up(std::string_view call, const std::vector<Key>& keys,
                                 const std::vector<NDArray>& arrays, std::string_view what) {
  check_lengths(call, keys.size(), arrays.size(), what);
  std::vector<KeyedArrays> items;
  for (std::size_t i = 0; i < keys.size(); ++i) items.push_back({&keys[i], {&arrays[i], 1}});
  return items;
}

std::vector<KeyedArrays> pair_up(std::string_view call, const std::vector<Key>& keys,
                                 const std::vector<std::vector<NDArray>>& groups,
                                 std::string_view what) {
  check_lengths(call, keys.size(), groups.size(), what);
  std::vector<KeyedArrays> items;
  for (std::size_t i = 0; i < keys.size(); ++i) items.push_back({&keys[i], groups[i]});
  return items;
}

}  // namespace

std::unique_ptr<KVStore> KVStore::create(const std::string& type) {
  if (type == "local") {
    return std::make_unique<kvstore::LocalStore>(type, std::make_unique<kvstore::CommCpu>());
  }
  if (type == "device") {
    return std::make_unique<kvstore::LocalStore>(type, std::make_unique<kvstore::CommDevice>());
  }
  if (std::find(kTypesToCome.begin(), kTypesToCome.end(), type) != kTypesToCome.end()) {
    throw Error("[kvstore.create] type " + type + ": this build does not have it");
  }
  throw std::invalid_argument("[kvstore.create] type '" + type + "': expected one of " +
                              all_types());
}

void KVStore::init(const Key& key, const NDArray& value) {
  const KeyedArrays item{&key, {&value, 1}};
  init_items({&item, 1});
}

void KVStore::init(const std::vector<Key>& keys, const std::vector<NDArray>& values) {
  init_items(pair_up("init", keys, values, "values"));
}

void KVStore::push(const Key& key, const NDArray& value, int priority) {
  const KeyedArrays item{&key, {&value, 1}};
  push_items({&item, 1}, priority);
}

void KVStore::push(const Key& key, const std::vector<NDArray>& values, int priority) {
  const KeyedArrays item{&key, values};
  push_items({&item, 1}, priority);
}

void KVStore::push(const std::vector<Key>& keys, const std::vector<NDArray>& values, int priority) {
  push_items(pair_up("push", keys, values, "arrays"), priority);
}

void KVStore::push(const std::vector<Key>& keys, const std::vector<std::vector<NDArray>>& groups,
                   int priority) {
  push_items(pair_up("push", keys, groups, "groups"), priority);
}

void KVStore::pull(const Key& key, NDArray out, int priority) {
  const KeyedArrays item{&key, {&out, 1}};
  pull_items({&item, 1}, priority);
}

void KVStore::pull(const Key& key, const std::vector<NDArray>& outs, int priority) {
  const KeyedArrays item{&key, outs};
  pull_items({&item, 1}, priority);
}

void KVStore::pull(const std::vector<Key>& keys, const std::vector<NDArray>& outs, int priority) {
  pull_items(pair_up("pull", keys, outs, "arrays"), priority);
}

void KVStore::pull(const std::vector<Key>& keys, const std::vector<std::vector<NDArray>>& groups,
                   int priority) {
  pull_items(pair_up("pull", keys, groups, "groups"), priority);
}

void KVStore::pushpull(const Key& key, const NDArray& value, NDArray out, int priority) {
  const KeyedArrays from{&key, {&value, 1}};
  const KeyedArrays to{&key, {&out, 1}};
  pushpull_items({&from, 1}, {&to, 1}, priority);
}

void KVStore::pushpull(const Key& key, const std::vector<NDArray>& values,
                       const std::vector<NDArray>& outs, int priority) {
  const KeyedArrays from{&key, values};
  const KeyedArrays to{&key, outs};
  pushpull_items({&from, 1}, {&to, 1}, priority);
}

void KVStore::pushpull(const std::vector<Key>& keys, const std::vector<NDArray>& values,
                       const std::vector<NDArray>& outs, int priority) {
  pushpull_items(pair_up("pushpull", keys, values, "arrays"),
                 pair_up("pushpull", keys, outs, "outputs"), priority);
}

void KVStore::pushpull(const std::vector<Key>& keys,
                       const std::vector<std::vector<NDArray>>& groups,
                       const std::vector<std::vector<NDArray>>& outs, int priority) {
  pushpull_items(pair_up("pushpull", keys, groups, "groups"),
                 pair_up("pushpull", keys, outs, "groups of outputs"), priority);
}

void KVStore::broadcast(const Key& key, const NDArray& value, NDArray out, int priority) {
  const KeyedArrays from{&key, {&value, 1}};
  const KeyedArrays to{&key, {&out, 1}};
  broadcast_items({&from, 1}, {&to, 1}, priority);
}

void KVStore::broadcast(const Key& key, const NDArray& value, const std::vector<NDArray>& outs,
                        int priority) {
  const KeyedArrays from{&key, {&value, 1}};
  const KeyedArrays to{&key, outs};
  broadcast_items({&from, 1}, {&to, 1}, priority);
}

void KVStore::broadcast(const std::vector<Key>& keys, const std::vector<NDArray>& values,
                        const std::vector<NDArray>& outs, int priority) {
  broadcast_items(pair_up("broadcast", keys, values, "values"),
                  pair_up("broadcast", keys, outs, "outputs"), priority);
}

void KVStore::broadcast(const std::vector<Key>& keys, const std::vector<NDArray>& values,
                        const std::vector<std::vector<NDArray>>& outs, int priority) {
  broadcast_items(pair_up("broadcast", keys, values, "values"),
                  pair_up("broadcast", keys, outs, "groups of outputs"), priority);
}

}  // namespace heddle
