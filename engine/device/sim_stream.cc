#include "engine/device/sim_stream.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "heddle/error.h"

#include "engine/base/thread.h"
#include "engine/device/sim_faults.h"

namespace heddle::device {

namespace {

/// Pieces in a stream, and what they wait for, for which there is room from the start.
constexpr std::size_t kUsual = 64;

/// A real device copies beside its computing. Here both take the same threads, and what is copied
/// to a device mostly is wanted later: it fills the gaps that computing leaves.
int behind_computing(int priority) {
  constexpr int kBehind = 1 << 20;
  return std::max(priority, std::numeric_limits<int>::min() + kBehind) - kBehind;
}

}  // namespace

/// A stack of streams, linked through themselves.
class SimStream::List {
 public:
  void push(SimStream& stream) {
    stream.next_ = first_;
    first_ = &stream;
  }
  SimStream* pop() {
    SimStream* stream = first_;
    if (stream != nullptr) first_ = std::exchange(stream->next_, nullptr);
    return stream;
  }

 private:
  SimStream* first_ = nullptr;
};

/// What one stream id stands for, over all the streams that have it one after the other.
struct SimStream::Timeline {
  std::uint16_t id = 0;
  std::uint64_t reached = 0;
  List waiters;
};

/// What all simulated streams of the process share.
struct SimStream::Machine {
  base::Mutex mutex;
  std::deque<Timeline> timelines;    // guarded by mutex; element i has id i and stays in place
  std::vector<Timeline*> free_list;  // guarded by mutex

  Machine() { timelines.emplace_back(); }  // id 0 is left to Token{}

  Timeline& open_timeline() {
    const std::lock_guard lock(mutex);
    if (!free_list.empty()) {
      Timeline* const timeline = free_list.back();
      free_list.pop_back();
      return *timeline;
    }
    const std::size_t id = timelines.size();
    if (id > std::numeric_limits<std::uint16_t>::max()) {
      throw DeviceError("[sim] out of stream ids: expected at most 65535 streams at a time");
    }
    free_list.reserve(id);  // so that a destructor can give the id back without allocating
    Timeline& timeline = timelines.emplace_back();
    timeline.id = static_cast<std::uint16_t>(id);
    return timeline;
  }
  void close(Timeline& timeline) {
    const std::lock_guard lock(mutex);
    free_list.push_back(&timeline);
  }
};

SimStream::Machine& SimStream::machine() {
  // Leaked: streams of engines that are never destroyed work on while the process exits.
  static Machine* const machine = new Machine;
  return *machine;
}

SimStream::SimStream(Lane lane, Executor& executor, SimFaults* faults)
    : lane_(lane),
      executor_(executor),
      faults_(faults),
      is_late_(faults != nullptr && faults->has_jitter()),
      is_timed_(is_late_ || lane != Lane::kCompute),
      timeline_(machine().open_timeline()),
      issued_(timeline_.reached) {
  try {
    if (!queue_.reserve(kUsual) || !waits_.reserve(kUsual)) throw std::bad_alloc();
    if (lane_ != Lane::kCompute || is_late_) {
      thread_ = base::start_thread(std::string("sim ") + lane_name(lane_), [this] { serve(); });
    }
    executor_.reserve();  // last, as it cannot be undone
  } catch (...) {
    end_thread();
    machine().close(timeline_);
    throw;
  }
}

SimStream::~SimStream() {
  {
    std::unique_lock lock(machine().mutex);
    // The last piece counts as done a moment after its finished was called.
    idle_.wait(lock, [this] { return state_ == State::kIdle; });
  }
  end_thread();
  machine().close(timeline_);
}

void SimStream::end_thread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(machine().mutex);
    closing_ = true;
    turn_.notify_one();
  }
  thread_.join();
}

std::uint16_t SimStream::id() const { return timeline_.id; }

Token SimStream::issue(const Work& work, std::span<const Token> waits) {
  List started;
  Token token;
  {
    const std::lock_guard lock(machine().mutex);
    if (!queue_.reserve(queue_.size() + 1) || !waits_.reserve(waits_.size() + waits.size())) {
      throw std::bad_alloc();
    }
    for (const Token wait : waits) static_cast<void>(waits_.push_back(wait));
    const std::uint64_t launch = faults_ != nullptr ? faults_->count_launch() : 0;
    static_cast<void>(queue_.push_back({work, waits.size(), now_if_timed(), launch}));
    token = Token(timeline_.id, ++issued_);
    if (state_ == State::kIdle) advance(started);
  }
  execute_all(started);
  return token;
}

/// Starts the head of the queue, or registers for what it waits for.
void SimStream::advance(List& started) {
  state_ = State::kIdle;
  if (queue_.empty()) return;
  Piece& head = queue_[queue_.begin()];
  for (; head.waits > 0; --head.waits) {
    awaited_ = waits_.front();
    Timeline& timeline = machine().timelines[awaited_.stream()];
    if (awaited_.sequence() > timeline.reached) {
      state_ = State::kWaiting;
      timeline.waiters.push(*this);
      return;
    }
    waits_.pop_front();
  }
  current_ = queue_.pop_front();
  state_ = State::kRunning;
  if (on_thread(current_.work)) {
    // Under the mutex: once it is released the piece may run and the stream be destroyed.
    threads_turn_ = true;
    turn_.notify_one();
  } else {
    started.push(*this);
  }
}

/// Counts the current piece as done and lets everything go on that waited for it.
void SimStream::complete(List& started) {
  ++timeline_.reached;
  List waiters = std::exchange(timeline_.waiters, List());
  while (SimStream* waiter = waiters.pop()) {
    if (waiter->awaited_.sequence() > timeline_.reached) {
      timeline_.waiters.push(*waiter);
    } else {
      waiter->queue_[waiter->queue_.begin()].ready = waiter->now_if_timed();
      waiter->advance(started);
    }
  }
  advance(started);
  if (state_ == State::kIdle) idle_.notify_one();
}

void SimStream::execute_all(List started) {
  // A stream in the list stays alive until its piece has run, for which execute() is needed.
  while (SimStream* stream = started.pop()) stream->executor_.execute(stream->executor_work());
}

Work SimStream::executor_work() {
  const Work& work = current_.work;
  const int priority = lane_ == Lane::kCopyIn ? behind_computing(work.priority) : work.priority;
  return {[](void* self) { static_cast<SimStream*>(self)->run_current(); },
          [](void* self) { static_cast<SimStream*>(self)->finish_current(); }, this, priority,
          work.sequence};
}

void SimStream::delay_current() {
  // Late in the model, too, and before it takes a link.
  current_.ready = std::max(current_.ready, end_) + faults_->delay_of(current_.launch);
  wait_until(current_.ready);
}

void SimStream::run_current() {
  if (!is_timed_) {
    const ModelTime time;
    return call_current();
  }
  // To wait for a worker of the executor is real: the simulated compute is the CPU's.
  const bool is_copy = lane_ != Lane::kCompute;
  const ModelTime time(is_copy ? current_.ready : Clock::now(), end_);
  call_current();
}

void SimStream::call_current() {
  if (faults_ != nullptr) return faults_->run(current_.work, current_.launch);
  current_.work.run(current_.work.argument);
}

void SimStream::finish_current() {
  current_.work.finished(current_.work.argument);
  List started;
  {
    const std::lock_guard lock(machine().mutex);
    complete(started);
  }
  execute_all(started);
}

void SimStream::serve() {
  std::unique_lock lock(machine().mutex);
  for (;;) {
    turn_.wait(lock, [this] { return threads_turn_ || closing_; });
    if (closing_) return;
    threads_turn_ = false;
    lock.unlock();
    if (is_late_) delay_current();
    if (on_executor(current_.work)) {
      executor_.execute(executor_work());
    } else {
      run_current();
      finish_current();
    }
    lock.lock();
  }
}

}  // namespace heddle::device
