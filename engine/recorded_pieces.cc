#include "engine/recorded_pieces.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/base/sync.h"
#include "engine/lane_queue.h"

namespace heddle::detail {
namespace {

/// To launch a graph of fewer operations takes as long as to launch these.
constexpr std::size_t kFewest = 4;
/// With more the GPU would wait for long until all are captured, and others for what it has done.
constexpr std::size_t kMost = 64;

std::uint64_t next_program() {
  static base::Atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool may_be_captured(const RecordedOp& op) {
  return op.options.capturable && op.options.lane == Lane::kCompute && op.options.device.is_gpu() &&
         op.kind == Submission::Kind::kRun && !op.is_async;
}

/// Which operations wait for one of another queue, and for which one of another queue waits.
class Neighbours {
 public:
  Neighbours(std::span<const RecordedOp> ops, std::span<const Var> variables)
      : ops_(ops), waits_elsewhere_(ops.size()), is_needed_elsewhere_(ops.size()) {
    for (std::size_t op = 0; op < ops.size(); ++op) {
      const std::span<const Var> named =
          variables.subspan(ops[op].first_variable, ops[op].mutates + ops[op].reads);
      for (std::size_t i = 0; i < named.size(); ++i) {
        use(op, uses_[VarRef(named[i]).state()], i < ops[op].mutates);
      }
    }
  }

  bool waits_elsewhere(std::size_t op) const { return waits_elsewhere_[op]; }
  bool is_needed_elsewhere(std::size_t op) const { return is_needed_elsewhere_[op]; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Uses {
    std::size_t write = kNone;
    std::vector<std::size_t> reads;  ///< since then
  };

  void use(std::size_t op, Uses& uses, bool writes) {
    if (uses.write != kNone) wait_for(op, uses.write);
    if (!writes) return uses.reads.push_back(op);
    for (const std::size_t read : uses.reads) wait_for(op, read);
    uses.reads.clear();
    uses.write = op;
  }
  void wait_for(std::size_t op, std::size_t earlier) {
    if (ops_[op].route.queue == ops_[earlier].route.queue) return;
    waits_elsewhere_[op] = true;
    is_needed_elsewhere_[earlier] = true;
  }

  const std::span<const RecordedOp> ops_;
  std::vector<bool> waits_elsewhere_;
  std::vector<bool> is_needed_elsewhere_;
  std::unordered_map<const VarState*, Uses> uses_;
};

}  // namespace

void cut_into_pieces(std::span<RecordedOp> ops, std::span<const Var> variables) {
  if (std::none_of(ops.begin(), ops.end(), may_be_captured)) return;
  const Neighbours neighbours(ops, variables);
  std::vector<std::size_t> sizes;
  std::unordered_map<const LaneQueue*, std::uint32_t> open;  // pieces that may go on
  const std::uint64_t program = next_program();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    RecordedOp& op = ops[i];
    auto piece = open.find(op.route.queue);
    const bool is_captured = may_be_captured(op);
    const bool ends_before = !is_captured || neighbours.waits_elsewhere(i);
    if (piece != open.end() && (ends_before || sizes[piece->second] == kMost)) {
      open.erase(piece);
      piece = open.end();
    }
    if (!is_captured) continue;
    if (piece == open.end()) {
      piece = open.emplace(op.route.queue, static_cast<std::uint32_t>(sizes.size())).first;
      sizes.push_back(0);
    }
    ++sizes[piece->second];
    op.place = {.program = program, .piece = piece->second, .index = static_cast<std::uint32_t>(i)};
    if (neighbours.is_needed_elsewhere(i)) open.erase(piece);
  }
  for (RecordedOp& op : ops) {
    if (op.place.program != 0 && sizes[op.place.piece] < kFewest) op.place = {};
  }
}

}  // namespace heddle::detail
