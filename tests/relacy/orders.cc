#include "tests/relacy/orders.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace heddle::relacy {
namespace {

// Of fixed size: what is allocated while a test is simulated counts as the test's.
constexpr std::size_t kMaxUses = 256;

std::array<Use, kMaxUses> g_uses;
std::size_t g_used = 0;
bool g_recording = false;
const Weaker* g_weaker = nullptr;

bool same(const Use& a, const Use& b) {
  return a.site.line == b.site.line && a.kind == b.kind && a.order == b.order &&
         std::strcmp(a.site.file, b.site.file) == 0;
}

void record(const Use& use) {
  const auto end = g_uses.begin() + static_cast<std::ptrdiff_t>(g_used);
  if (std::any_of(g_uses.begin(), end, [&](const Use& known) { return same(known, use); })) return;
  if (g_used != kMaxUses) g_uses[g_used++] = use;
}

const char* name(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "";
}

std::vector<std::memory_order> weaker_orders(const Use& use) {
  const bool sequential = use.order == std::memory_order_seq_cst;
  std::vector<std::memory_order> orders;
  if (use.order == std::memory_order_relaxed) return orders;
  if (use.kind == Kind::kUpdate) {
    if (sequential) orders.push_back(std::memory_order_acq_rel);
    if (sequential || use.order == std::memory_order_acq_rel) {
      orders.push_back(std::memory_order_acquire);
      orders.push_back(std::memory_order_release);
    }
  } else if (sequential) {
    orders.push_back(use.kind == Kind::kLoad ? std::memory_order_acquire
                                             : std::memory_order_release);
  }
  orders.push_back(std::memory_order_relaxed);
  return orders;
}

std::string describe(const Use& use, std::memory_order instead) {
  static constexpr std::array<const char*, 3> kNames{"load", "store", "update"};
  const std::string function = use.site.function;
  return function.substr(0, function.find('<')) + ": " +
         kNames[static_cast<std::size_t>(use.kind)] + " " + name(use.order) + " -> " +
         name(instead);
}

}  // namespace

std::memory_order order_of(Kind kind, std::memory_order order, const Site& site) {
  if (g_recording) record({site, kind, order});
  return g_weaker != nullptr && same(g_weaker->use, {site, kind, order}) ? g_weaker->instead
                                                                         : order;
}

void weaken(const std::optional<Weaker>& weaker) {
  static std::optional<Weaker> current;
  current = weaker;
  g_weaker = current ? &*current : nullptr;
}

void start_recording() {
  g_used = 0;
  g_recording = true;
}

std::vector<Weaker> stop_recording(const std::string& file) {
  g_recording = false;
  const auto end = g_uses.begin() + static_cast<std::ptrdiff_t>(g_used);
  std::sort(g_uses.begin(), end,
            [](const Use& a, const Use& b) { return a.site.line < b.site.line; });
  std::vector<Weaker> all;
  std::map<std::string, int> times;
  for (auto use = g_uses.begin(); use != end; ++use) {
    if (!std::string(use->site.file).ends_with(file)) continue;
    for (const std::memory_order order : weaker_orders(*use)) {
      std::string text = describe(*use, order);
      const int number = ++times[text];
      if (number != 1) text += " (" + std::to_string(number) + ")";
      all.push_back({*use, order, text});
    }
  }
  return all;
}

}  // namespace heddle::relacy
