#include "engine/disposal.h"

#include <new>
#include <system_error>

#include "engine/base/thread.h"

namespace heddle::detail {

bool Disposal::ask() noexcept {
  if (is_asked_.load()) return true;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    try {
      if (!thread_.joinable()) thread_ = base::start_thread("hdl-disposal", [this] { serve(); });
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    is_asked_.store(true);
  }
  changed_.notify_one();
  return true;
}

void Disposal::halt() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  is_asked_.store(false);  // nobody will do it
}

void Disposal::stop() {
  halt();
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Disposal::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || is_asked_.load(); });
    if (stopping_) return;
    is_asked_.store(false);
    for (bool was_one = true; was_one && !stopping_;) {
      lock.unlock();
      was_one = destroy_one_();
      lock.lock();
    }
  }
}

}  // namespace heddle::detail
