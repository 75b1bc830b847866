#include <algorithm>

#include <starpu.h>

#include "contenders/contenders.h"
#include "contenders/timing.h"

namespace bench::engine {
namespace {

struct Call {
  const Body* body;
  std::size_t operation;
};

void run_call(void* /*buffers*/[], void* argument) {
  const auto* const call = static_cast<const Call*>(argument);
  call->body->run(call->operation);
}

/// Its workers are paused between runs: while idle they would keep the CPUs from others.
///
/// It finds dependencies handle by handle, each under a lock of its own: of two threads that push
/// operations on {a, b} and {b, a} each may come first on one, and both wait for ever. It takes no
/// more workers than there are CPUs. A handle takes kilobytes, and so does a task.
class StarPu final : public Contender {
 public:
  explicit StarPu(const Settings& settings) : workers_(settings.workers) {
    starpu_conf_init(&config_);
    config_.ncpus = std::min(workers_, static_cast<int>(std::thread::hardware_concurrency()));
    config_.ncuda = config_.nopencl = 0;
    config_.sched_policy_name = "lws";
    if (starpu_init(&config_) != 0) throw std::runtime_error("StarPU does not start");
    starpu_pause();
    starpu_codelet_init(&codelet_);
    codelet_.cpu_funcs[0] = run_call;
    codelet_.nbuffers = STARPU_VARIABLE_NBUFFERS;
  }
  ~StarPu() override {
    starpu_resume();
    unregister();
    starpu_shutdown();
  }
  StarPu(const StarPu&) = delete;
  StarPu& operator=(const StarPu&) = delete;

  bool can_run(const Program& program) const override {
    constexpr int kMostVariables = 100'000;
    constexpr std::size_t kMostOperations = 200'000;
    return Contender::can_run(program) && program.variables <= kMostVariables &&
           program.operations.size() <= kMostOperations && config_.ncpus == workers_;
  }
  bool can_hold() const override { return true; }

  void prepare(const Program& program) override {
    starpu_resume();
    unregister();
    starpu_pause();
    program_ = &program;
    values_.assign(static_cast<std::size_t>(program.variables), 0);
    handles_.resize(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      starpu_variable_data_register(&handles_[i], STARPU_MAIN_RAM,
                                    reinterpret_cast<uintptr_t>(&values_[i]), sizeof(int));
    }
    calls_.resize(program.operations.size());
  }

  Times run(const Body& body) override {
    starpu_resume();
    const Times times = time_run(
        *program_, {}, [&](std::size_t i) { push(i, body); }, starpu_task_wait_for_all);
    starpu_pause();
    return times;
  }

  Times run_held(const Body& body, const Moments& moments) override {
    const auto wait = [] {
      starpu_resume();
      starpu_task_wait_for_all();
    };
    const Times times = time_run(
        *program_, moments, [&](std::size_t i) { push(i, body); }, wait);
    starpu_pause();
    return times;
  }

  std::vector<std::chrono::nanoseconds> round_trips(const Body& body,
                                                    const RoundTrips& trips) override {
    starpu_resume();
    const auto times = time_round_trips(trips, [&] {
      push(0, body);
      starpu_task_wait_for_all();
    });
    starpu_pause();
    return times;
  }

 private:
  void push(std::size_t i, const Body& body) {
    const Operation& operation = program_->operations[i];
    calls_[i] = {&body, i};
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet_;
    task->cl_arg = &calls_[i];
    task->nbuffers = 0;
    const auto use = [&](int v, starpu_data_access_mode mode) {
      STARPU_TASK_SET_HANDLE(task, handles_[static_cast<std::size_t>(v)], task->nbuffers);
      task->modes[task->nbuffers++] = mode;
    };
    for (const int v : operation.reads) use(v, STARPU_R);
    for (const int v : operation.writes) use(v, STARPU_RW);
    if (starpu_task_submit(task) != 0) throw std::runtime_error("StarPU refuses a task");
  }

  void unregister() {
    for (const starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
    handles_.clear();
  }

  int workers_;
  starpu_conf config_{};
  starpu_codelet codelet_{};
  const Program* program_ = nullptr;
  std::vector<int> values_;
  std::vector<starpu_data_handle_t> handles_;
  std::vector<Call> calls_;
};

}  // namespace

std::unique_ptr<Contender> make_starpu(const Settings& settings) {
  return std::make_unique<StarPu>(settings);
}

}  // namespace bench::engine
