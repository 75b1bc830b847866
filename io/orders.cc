#include "io/orders.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "heddle/engine.h"
#include "heddle/sample.h"

#include "io/priority.h"

namespace heddle::io {
namespace {

constexpr std::size_t kKept = 2;         // a batch seldom needs more than this epoch and the next
constexpr std::int64_t kShuffleId = -1;  // no record's

}  // namespace

std::shared_ptr<const Order> Orders::of(std::int64_t epoch) {
  if (const auto known = recent_.find(epoch); known != recent_.end()) return known->second;
  Engine& engine = Engine::get();
  const auto order = std::make_shared<Order>();
  order->var = engine.new_variable("io.order");
  PushOptions options;
  options.priority = kPriority;
  options.name = "io.shuffle";
  options.bytes = 2 * sizeof(std::int64_t) * static_cast<std::uint64_t>(records_);  // and swapped
  engine.push(
      [order, records = records_, random = RandomStream(seed_, epoch, kShuffleId)]() mutable {
        order->records.resize(static_cast<std::size_t>(records));
        std::iota(order->records.begin(), order->records.end(), 0);
        for (std::size_t left = order->records.size(); left > 1; --left) {
          std::swap(order->records[left - 1], order->records[random.below(left)]);
        }
      },
      {}, {order->var}, options);
  if (recent_.size() == kKept) recent_.erase(recent_.begin());
  recent_.emplace(epoch, order);
  return order;
}

}  // namespace heddle::io
