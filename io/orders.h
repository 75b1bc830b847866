#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "heddle/var.h"

namespace heddle::io {

/// The order of the records in one epoch. Written by an operation that mutates `var`; read by
/// operations that name it as read.
struct Order {
  Var var;
  std::vector<std::int64_t> records;
};

/// Makes the orders of shuffled epochs: for each (seed, epoch) one permutation of all records,
/// computed by an operation when it is first asked for.
///
/// Thread safety: calls are serialized by the caller.
class Orders {
 public:
  Orders(std::int64_t records, std::uint64_t seed) : records_(records), seed_(seed) {}

  std::shared_ptr<const Order> of(std::int64_t epoch);

 private:
  std::int64_t records_;
  std::uint64_t seed_;
  std::map<std::int64_t, std::shared_ptr<const Order>> recent_;
};

}  // namespace heddle::io
