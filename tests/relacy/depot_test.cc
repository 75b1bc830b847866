#include "engine/base/depot.h"

#include <array>

#include "engine/base/sync.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

struct Item {
  Plain<Item*> next{nullptr};
  Plain<int> uses{0};
};

/// Threads that leave an item each, take what is there, use it, and put it back, linked or one by
/// one.
struct Sharing : rl::test_suite<Sharing, 3> {
  static constexpr int kItems = 3;

  base::Depot<Item, base::Atomic<Item*>> depot;
  std::array<Item, kItems> items;

  void thread(unsigned index) {
    depot.put(items[index]);
    for (int i = 0; i != 2; ++i) {
      Item* const all = depot.take_all();
      if (all == nullptr) continue;
      for (Item* item = all; item != nullptr; item = item->next) item->uses = item->uses + 1;
      if (index == 0) {
        depot.put(*all);
      } else {
        put_one_by_one(*all);
      }
    }
  }
  void after() {
    int count = 0;
    for (const Item* item = depot.take_all(); item != nullptr; item = item->next) ++count;
    check(count == kItems, "lost, or there twice");
  }

  void put_one_by_one(Item& first) {
    for (Item* item = &first; item != nullptr;) {
      Item* const next = item->next;
      item->next = nullptr;
      depot.put(*item);
      item = next;
    }
  }
};

}  // namespace

TEST_CASE("depot: an item that comes back again and again has one owner at a time") {
  require_holds<Sharing>(300'000);
}

TEST_CASE("depot: every weaker order is found") {
  require_weaker_found<Sharing>("engine/base/depot.h", 20'000);
}

}  // namespace heddle::relacy
