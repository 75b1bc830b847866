#include "engine/base/thread.h"

#include <csignal>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace heddle::base {
namespace {

/// Blocks every signal for as long as the object lives, so that a thread started meanwhile
/// inherits that.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    // Faults stay with the thread that causes them.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Thread start_thread(const std::string& name, std::function<void()> body) try {
  const SignalsBlocked blocked;
  Thread thread(std::move(body));
  pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
  return thread;
} catch (const std::system_error& error) {
  throw std::system_error(error.code(), "heddle cannot start its thread \"" + name + "\"");
}

}  // namespace heddle::base
