#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "heddle/engine.h"
#include "heddle/io.h"

#include "io/assembler.h"
#include "io/reader.h"
#include "io/schedule.h"

namespace heddle::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGrace{20};  // for transforms that are running at the end

void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("[Pipeline] " + what);
}

void check(const Source& source, const PipelineOptions& options) {
  require(source.reader() != nullptr, "the source refers to nothing");
  const auto at_least = [](const char* name, int value, int least) {
    require(value >= least, std::string(name) + " " + std::to_string(value) +
                                ": expected at least " + std::to_string(least));
  };
  at_least("batch_size", options.batch_size, 1);
  at_least("decode_threads", options.decode_threads, 1);
  at_least("prefetch", options.prefetch, 1);
  at_least("max_corrupt", options.max_corrupt, 0);
  at_least("shard.count", options.shard.count, 1);
  require(options.shard.index >= 0 && options.shard.index < options.shard.count,
          "shard " + std::to_string(options.shard.index) + " of " +
              std::to_string(options.shard.count) + ": expected 0 <= index < count");
  for (std::size_t i = 0; i < options.transforms.size(); ++i) {
    require(options.transforms[i] != nullptr, "transform " + std::to_string(i) + " is empty");
  }
}

std::int64_t to_ns(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

/// There are no threads here. Each batch is assembled by an operation of the engine, pushed up to
/// `prefetch` batches ahead of the consumer, before the operations that compute (see Assembler):
/// it takes its turn among the CPU's workers, so that input and computing together stay within
/// the CPUs that the process may use, it stands in traces, and its memory comes from the engine's
/// pools. The batches ahead are the fixed slots of a free and a full queue: `ahead_` is the full
/// one, and next(), which takes a batch out and pushes another, is what returns a free slot.
///
/// Thread safety: consumer_mutex_ lets one next() run at a time and is held while that waits.
/// mutex_ guards the position and is not held while waiting for a batch, or for the engine to take
/// a push, so that reset() and restore() need not wait for a transform.
///
/// Invariants, under mutex_:
/// - ahead_[k] is the k-th batch from position_ on; ahead_end_ is the cursor behind the last.
/// - ahead_.size() <= prefetch.
/// - An assembly leaves ahead_ delivered or cancelled.
/// - Only who holds consumer_mutex_ adds to ahead_, or the constructor.
class Pipeline::Impl {
 public:
  Impl(Source source, const PipelineOptions& options)
      : source_(std::move(source)),
        options_(options),
        schedule_(source_.size(), options.batch_size, options.shard, options.last_batch),
        assembler_(std::make_shared<Assembler>(source_.reader(), options)) {
    refill();
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      drop_ahead();
    }
    assembler_->wait_idle(kGrace);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::optional<Batch> next() {
    const std::lock_guard consumer(consumer_mutex_);
    wait_for_earlier_use();
    while (begin_next()) {
      refill();
      const std::shared_ptr<Assembly> first = first_ahead();
      if (first == nullptr) continue;  // reset() or restore() has come between
      const Clock::time_point start = Clock::now();
      Engine::get().wait_for_var(first->host_data.var());
      consumer_wait_ns_ += to_ns(Clock::now() - start);
      std::optional<Batch> batch = take(first);
      if (!batch) continue;
      refill();
      return batch;
    }
    return std::nullopt;
  }

  void reset() {
    const std::lock_guard lock(mutex_);
    if (!begun_) return;
    move_to({position_.epoch + 1, 0, 0});
  }

  State state() const {
    const std::lock_guard lock(mutex_);
    return describe(position_);
  }

  void restore(const State& state) {
    const Cursor cursor{state.epoch, state.index, state.carried};
    const State here = describe(cursor);
    if (state != here) {
      throw std::invalid_argument("[Pipeline::restore] the state is of another pipeline: '" +
                                  state.str() + "', expected '" + here.str() + "'");
    }
    if (!schedule_.reaches(cursor)) {
      throw std::invalid_argument("[Pipeline::restore] '" + state.str() +
                                  "': there is no such position");
    }
    const std::lock_guard lock(mutex_);
    move_to(cursor);
  }

  std::int64_t batches_per_epoch() const {
    const std::lock_guard lock(mutex_);
    return schedule_.batches(position_);
  }

  const Source& source() const { return source_; }

  Meters meters() const {
    Meters meters;
    meters.batches = batches_.load();
    meters.records = records_.load();
    meters.bytes_read = source_.reader()->bytes_read();
    meters.consumer_wait_seconds = static_cast<double>(consumer_wait_ns_.load()) * 1e-9;
    meters.producer_wait_seconds = static_cast<double>(producer_wait_ns_.load()) * 1e-9;
    return meters;
  }

 private:
  /// Back-pressure on a consumer that pushes work and never waits.
  void wait_for_earlier_use() {
    if (in_use_.size() <= static_cast<std::size_t>(options_.prefetch)) return;
    const NDArray oldest = std::move(in_use_.front());
    in_use_.pop_front();
    Engine::get().wait_for_var_unused(oldest.var());
  }

  /// False, with the epoch ended, if it has no more batches.
  bool begin_next() {
    const std::lock_guard lock(mutex_);
    begun_ = position_.index != schedule_.batches(position_);
    if (!begun_) position_ = schedule_.next_epoch(position_);
    return begun_;
  }

  /// The assembly of the next batch; null if none is under way.
  std::shared_ptr<Assembly> first_ahead() const {
    const std::lock_guard lock(mutex_);
    return ahead_.empty() ? nullptr : ahead_.front();
  }

  /// Delivers `first`, or throws its error; nullopt if it has been dropped meanwhile.
  std::optional<Batch> take(const std::shared_ptr<Assembly>& first) {
    const std::lock_guard lock(mutex_);
    if (first->cancelled.load()) return std::nullopt;
    if (first->error != nullptr) std::rethrow_exception(first->error);
    meter_idle_producers();
    ahead_.pop_front();
    ++position_.index;
    ++batches_;
    records_ += first->host_data.shape().dim(0) - first->batch.pad;
    in_use_.push_back(first->batch.data);
    return std::move(first->batch);
  }

  /// Called with ahead_ as it was since the last refill.
  void meter_idle_producers() {
    std::int64_t last = 0;
    for (const auto& assembly : ahead_) {
      const std::int64_t finished = assembly->finished.load();
      if (finished == 0) return;
      last = std::max(last, finished);
    }
    producer_wait_ns_ += to_ns(Clock::now().time_since_epoch()) - last;
  }

  /// Assembles up to `prefetch` batches ahead. Blocks while the engine takes no push, without
  /// mutex_.
  void refill() {
    while (const std::optional<Cursor> cursor = next_ahead()) {
      add_ahead(assembler_->push(*cursor, schedule_.plan(*cursor)));
    }
  }

  /// Of the next batch to assemble; nothing if enough are ahead.
  std::optional<Cursor> next_ahead() {
    const std::lock_guard lock(mutex_);
    if (schedule_.empty() || ahead_.size() >= static_cast<std::size_t>(options_.prefetch))
      return {};
    while (ahead_end_.index == schedule_.batches(ahead_end_)) {
      ahead_end_ = schedule_.next_epoch(ahead_end_);
    }
    return ahead_end_;
  }

  void add_ahead(const std::shared_ptr<Assembly>& assembly) {
    const std::lock_guard lock(mutex_);
    if (assembly->cursor != ahead_end_) {  // reset() or restore() has come between
      assembly->cancelled.store(true);
      return;
    }
    ahead_.push_back(assembly);
    ++ahead_end_.index;
  }

  void drop_ahead() {
    for (const auto& assembly : ahead_) assembly->cancelled.store(true);
    ahead_.clear();
  }

  /// Pushes nothing: pushing may block.
  void move_to(const Cursor& cursor) {
    drop_ahead();
    position_ = ahead_end_ = cursor;
    begun_ = false;
  }

  State describe(const Cursor& cursor) const {
    return {cursor.epoch,   cursor.index,        cursor.carried,
            source_.size(), options_.batch_size, options_.shuffle,
            options_.seed,  options_.shard,      options_.last_batch};
  }

  const Source source_;
  const PipelineOptions options_;
  const Schedule schedule_;
  const std::shared_ptr<Assembler> assembler_;

  std::mutex consumer_mutex_;
  std::deque<NDArray> in_use_;  // delivered last; guarded by consumer_mutex_

  mutable std::mutex mutex_;
  Cursor position_;
  bool begun_ = false;  // next() was called since the epoch began
  std::deque<std::shared_ptr<Assembly>> ahead_;
  Cursor ahead_end_;

  std::atomic<std::int64_t> batches_{0};
  std::atomic<std::int64_t> records_{0};
  std::atomic<std::int64_t> consumer_wait_ns_{0};
  std::atomic<std::int64_t> producer_wait_ns_{0};
};

Pipeline::Pipeline(Source source, PipelineOptions options) {
  check(source, options);
  impl_ = std::make_unique<Impl>(std::move(source), options);
}

Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;
Pipeline::~Pipeline() = default;

std::optional<Batch> Pipeline::next() { return impl_->next(); }
void Pipeline::reset() { impl_->reset(); }
State Pipeline::state() const { return impl_->state(); }
void Pipeline::restore(const State& state) { impl_->restore(state); }
std::int64_t Pipeline::batches_per_epoch() const { return impl_->batches_per_epoch(); }
const Source& Pipeline::source() const { return impl_->source(); }
Meters Pipeline::meters() const { return impl_->meters(); }

}  // namespace heddle::io
