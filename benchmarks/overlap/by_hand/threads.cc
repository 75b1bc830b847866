#include "overlap/by_hand/threads.h"

namespace bench::overlap::by_hand {

Threads::Threads(int count) {
  for (int i = 0; i < count; ++i) threads_.emplace_back([this] { serve(); });
}

Threads::~Threads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Threads::execute(const heddle::device::Work& work) noexcept {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(work);
  }
  changed_.notify_one();
}

void Threads::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !queue_.empty() || stopping_; });
    if (queue_.empty()) return;
    const heddle::device::Work work = queue_.front();
    queue_.pop_front();
    lock.unlock();
    work.run(work.argument);
    work.finished(work.argument);
    lock.lock();
  }
}

}  // namespace bench::overlap::by_hand
