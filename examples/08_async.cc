// heddle inside a program that has threads of its own: operations that another thread completes, a
// producer that drops what the engine has no room for, memory that is given back when its last
// operation has ended, and a trace of it all for ui.perfetto.dev: 08_async [TRACE.json].

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include <heddle/heddle.h>

namespace {

/// Answers each request a millisecond later, on its own thread, as a server or a disk would.
class Service {
 public:
  ~Service() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void ask(std::vector<float>& answer, heddle::Completion completion) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push({&answer, std::move(completion)});
    }
    changed_.notify_one();
  }

 private:
  struct Request {
    std::vector<float>* answer;
    heddle::Completion completion;
  };

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !requests_.empty(); });
      if (requests_.empty()) return;
      Request request = std::move(requests_.front());
      requests_.pop();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::fill(request.answer->begin(), request.answer->end(), 1.0F);
      request.completion.done();  // what waits for the answer may run
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<Request> requests_;
  bool stopping_ = false;
  std::thread thread_{[this] { serve(); }};
};

}  // namespace

int main(int argc, char** argv) {
  Service service;  // before the engine, which waits for its operations when it goes
  heddle::Engine engine({.max_pending = 32, .trace = true});
  const heddle::Var sum_var = engine.new_variable("sum");
  double sum = 0;
  int dropped = 0;

  for (int i = 0; i < 40; ++i) {
    const heddle::Var var = engine.new_variable("answer");
    auto* const answer = new std::vector<float>;
    // Where push() would block, as 32 operations are pending, try_push() pushes nothing.
    const auto prepare = [answer] { answer->resize(1000); };
    if (engine.try_push(prepare, {}, {var}, {.name = "prepare"})) {
      // No worker waits while the service is at it: the operation ends with its Completion.
      engine.push_async(
          [&service, answer](heddle::RunContext&, heddle::Completion completion) {
            service.ask(*answer, std::move(completion));
          },
          {}, {var}, {.name = "ask"});
      engine.push(
          [&sum, answer] {
            for (const float x : *answer) sum += x;
          },
          {var}, {sum_var}, {.name = "add"});
    } else {
      ++dropped;
    }
    engine.delete_variable(var, [answer] { delete answer; });  // after all that was pushed for it
  }
  engine.wait_for_all();
  std::printf("sum %.0f of %d answers, %d requests dropped\n", sum, 40 - dropped, dropped);

  if (argc > 1) {
    std::ofstream file(argv[1]);
    heddle::write_chrome_trace(file, engine.trace());
    if (!file.flush()) {
      std::fprintf(stderr, "08_async: cannot write %s\n", argv[1]);
      return 1;
    }
  }
  return sum == 1000.0 * (40 - dropped) ? 0 : 1;
}
