// Simulated GPUs by hand: streams, tokens and links of heddle's device layer, and the kernels that
// its operators have on them.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>

#include "engine/base/cpus.h"
#include "engine/device/backend.h"
#include "engine/device/sim_clock.h"
#include "ndarray/copy.h"
#include "ops/matmul.h"
#include "overlap/by_hand/machine.h"
#include "overlap/by_hand/simulated_kernels.h"
#include "overlap/by_hand/threads.h"

namespace bench::overlap::by_hand {
namespace {

namespace device = heddle::device;
using heddle::Device;
using heddle::Lane;
using heddle::OpRecord;
using heddle::ops::MatmulSizes;

/// The time of the simulated machine, where a copy begins when its link could, also if its thread
/// wakes up later: what a lane takes is then what it would take there.
std::int64_t now_ns() {
  return std::chrono::nanoseconds(device::model_now().time_since_epoch()).count();
}

/// Pieces of work that have not ended, of all streams.
class Pending {
 public:
  void add() { ++count_; }
  void remove() {
    if (--count_ == 0) count_.notify_all();
  }
  void wait_for_none() const {
    for (int seen = count_; seen != 0; seen = count_) count_.wait(seen);
  }

 private:
  std::atomic<int> count_{0};
};

class SimulatedStream final : public Stream {
 public:
  SimulatedStream(Device gpu, Lane lane, device::Executor& threads, Pending& pending,
                  std::vector<device::Token>& events)
      : gpu_(gpu),
        lane_(lane),
        pending_(pending),
        events_(events),
        stream_(device::backend_of(gpu).make_stream(lane, threads)) {}

  void wait(Event event) override { waits_.push_back(events_[static_cast<std::size_t>(event)]); }
  void record(Event event) override { events_[static_cast<std::size_t>(event)] = last_; }

  void copy(const Buffer& from, const Buffer& to) override {
    const std::size_t bytes = static_cast<std::size_t>(to.size) * sizeof(float);
    issue(
        "copy",
        [gpu = gpu_, from, to, bytes] {
          device::backend_of(gpu).copy(to.data, to.device, from.data, from.device, bytes);
        },
        heddle::detail::is_brief(from.device, to.device, bytes));
  }

  void multiply(const MatmulSizes& sizes, const Buffer& a, const Buffer& b,
                const Buffer& out) override {
    issue("dot", [sizes, a, b, out] {
      heddle::ops::matmul(sizes, a.data, b.data, out.data, /*accumulate=*/false);
    });
  }

  void combine(Combination how, const Buffer& a, const Buffer& b, const Buffer& out) override {
    issue("combine", [how, a, b, out] { by_hand::combine(how, a, b, out); });
  }

  void relu(const Buffer& x, const Buffer& out) override {
    issue("relu", [x, out] { by_hand::relu(x, out); });
  }

  void fully_connected(const MatmulSizes& sizes, const Buffer& x, const Buffer& weight,
                       const Buffer& bias, const Buffer& out) override {
    issue("fully_connected",
          [sizes, x, weight, bias, out] { by_hand::fully_connected(sizes, x, weight, bias, out); });
  }

  void weight_gradient(const MatmulSizes& sizes, const Buffer& grad, const Buffer& x,
                       const Buffer& weight, const Buffer& bias) override {
    issue("weight_gradient", [sizes, grad, x, weight, bias] {
      by_hand::weight_gradient(sizes, grad, x, weight, bias);
    });
  }

  void loss_gradient(const Buffer& logits, const Buffer& labels, const Buffer& out) override {
    issue("loss_gradient", [logits, labels, out] { by_hand::loss_gradient(logits, labels, out); });
  }

  void update(const Buffer& first, const Buffer& second, const Buffer& weight, double lr) override {
    issue(
        "update", [first, second, weight, lr] { by_hand::update(first, second, weight, lr); },
        /*is_brief=*/true);
  }

  void take_records(std::vector<OpRecord>& records) {
    for (Piece& piece : pieces_) records.push_back(std::move(piece.record));
    pieces_.clear();
  }

 private:
  struct Piece {
    std::function<void()> work;
    Pending* pending;
    OpRecord record;
  };

  void issue(const char* name, std::function<void()> work, bool is_brief = false) {
    Piece& piece = pieces_.emplace_back(Piece{std::move(work), &pending_, {}});
    piece.record.name = name;
    piece.record.device = gpu_;
    piece.record.lane = lane_;
    pending_.add();
    last_ = stream_->issue(
        {.run = run, .finished = finished, .argument = &piece, .brief = is_brief}, waits_);
    waits_.clear();
  }

  static void run(void* argument) {
    Piece& piece = *static_cast<Piece*>(argument);
    piece.record.started = now_ns();
    piece.work();
    piece.record.done = now_ns();
  }

  static void finished(void* argument) { static_cast<Piece*>(argument)->pending->remove(); }

  const Device gpu_;
  const Lane lane_;
  Pending& pending_;
  std::vector<device::Token>& events_;  // what each was last recorded at
  std::vector<device::Token> waits_;    // of the next piece
  device::Token last_;
  std::deque<Piece> pieces_;  // stay in place
  const std::unique_ptr<device::Stream> stream_;
};

class SimulatedMachine final : public Machine {
 public:
  SimulatedMachine() : threads_(heddle::base::usable_cpus()) {}
  ~SimulatedMachine() override {
    for (const Buffer& buffer : buffers_) {
      device::backend_of(buffer.device).close(buffer.data, bytes(buffer));
      device::backend_of(buffer.device).deallocate(buffer.data, bytes(buffer));
    }
  }
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;

  Stream& make_stream(Device gpu, Lane lane) override {
    return streams_.emplace_back(gpu, lane, threads_, pending_, events_);
  }

  Event make_event(Device /*gpu*/) override {
    events_.emplace_back();
    return Event{events_.size() - 1};
  }

  Buffer make_buffer(Device device, std::span<const float> values) override {
    device::Backend& backend = device::backend_of(device);
    auto* const block = static_cast<float*>(backend.allocate(values.size_bytes()));
    backend.open(block, values.size_bytes());
    std::copy(values.begin(), values.end(), block);
    return buffers_.emplace_back(Buffer{block, static_cast<std::int64_t>(values.size()), device});
  }

  void synchronize() override { pending_.wait_for_none(); }

  std::vector<float> read(const Buffer& buffer) override {
    return {buffer.data, buffer.data + buffer.size};
  }

  std::vector<OpRecord> take_records() override {
    std::vector<OpRecord> records;
    for (SimulatedStream& stream : streams_) stream.take_records(records);
    return records;
  }

 private:
  static std::size_t bytes(const Buffer& buffer) {
    return static_cast<std::size_t>(buffer.size) * sizeof(float);
  }

  Threads threads_;
  Pending pending_;
  std::vector<device::Token> events_;
  std::vector<Buffer> buffers_;
  std::deque<SimulatedStream> streams_;
};

}  // namespace

std::unique_ptr<Machine> make_simulated_machine() { return std::make_unique<SimulatedMachine>(); }

}  // namespace bench::overlap::by_hand
