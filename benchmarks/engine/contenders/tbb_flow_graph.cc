#include <optional>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "contenders/contenders.h"
#include "contenders/last_uses.h"
#include "contenders/timing.h"

namespace bench::engine {
namespace {

using oneapi::tbb::flow::continue_msg;
using oneapi::tbb::flow::continue_node;

/// A flow graph that is built anew for each run; pushing is building, and nothing runs before the
/// last push. The thread that waits runs operations, too.
///
/// There is no order in which two threads could push: a graph is built, then run.
class TbbFlowGraph final : public Contender {
 public:
  explicit TbbFlowGraph(const Settings& settings)
      : limit_(oneapi::tbb::global_control::max_allowed_parallelism,
               static_cast<std::size_t>(settings.workers) + 1),
        arena_(settings.workers + 1) {}

  bool can_hold() const override { return true; }
  void prepare(const Program& program) override { program_ = &program; }
  Times run(const Body& body) override { return run_held(body, {}); }

  Times run_held(const Body& body, const Moments& moments) override {
    last_uses_.reset(program_->variables);
    Times times;
    arena_.execute([&] {
      oneapi::tbb::flow::graph graph;
      Nodes nodes;
      const auto wait = [&] {
        for (const auto& node : nodes) {
          if (node->is_first) node->node.try_put(continue_msg());
        }
        graph.wait_for_all();
      };
      times = time_run(
          *program_, moments, [&](std::size_t i) { push(i, body, graph, nodes); }, wait);
    });
    return times;
  }

  bool can_repeat(Again how) const override { return how == Again::kKept; }

  void keep(const Body& body) override {
    last_uses_.reset(program_->variables);
    arena_.execute([&] {
      kept_.emplace();
      for (std::size_t i = 0; i < program_->operations.size(); ++i) {
        push(i, body, kept_->graph, kept_->nodes);
      }
    });
  }

  /// A node counts the messages of its predecessors, so one run must end before the next begins.
  Times repeat(const Body& /*body*/, Again /*how*/, int times) override {
    Times result;
    arena_.execute([&] {
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < times; ++i) {
        for (const auto& node : kept_->nodes) {
          if (node->is_first) node->node.try_put(continue_msg());
        }
        kept_->graph.wait_for_all();
      }
      result.submit = result.total = Clock::now() - begin;
    });
    return result;
  }

  std::vector<std::chrono::nanoseconds> round_trips(const Body& body,
                                                    const RoundTrips& trips) override {
    std::vector<std::chrono::nanoseconds> times;
    arena_.execute([&] {
      oneapi::tbb::flow::graph graph;
      times = time_round_trips(trips, [&] {
        Node node(graph, body, 0);
        node.node.try_put(continue_msg());
        graph.wait_for_all();
      });
    });
    return times;
  }

 private:
  struct Node {
    Node(oneapi::tbb::flow::graph& graph, const Body& body, std::size_t i)
        : node(graph, [&body, i](const continue_msg& message) {
            body.run(i);
            return message;
          }) {}
    continue_node<continue_msg> node;
    bool is_first = true;
  };
  using Nodes = std::vector<std::unique_ptr<Node>>;
  struct Kept {
    oneapi::tbb::flow::graph graph;
    Nodes nodes;
  };

  void push(std::size_t i, const Body& body, oneapi::tbb::flow::graph& graph, Nodes& nodes) {
    Node& node = *nodes.emplace_back(std::make_unique<Node>(graph, body, i));
    last_uses_.add(node, program_->operations[i], [&](Node& earlier) {
      oneapi::tbb::flow::make_edge(earlier.node, node.node);
      node.is_first = false;
    });
  }

  oneapi::tbb::global_control limit_;
  oneapi::tbb::task_arena arena_;
  const Program* program_ = nullptr;
  LastUses<Node> last_uses_;
  std::optional<Kept> kept_;
};

}  // namespace

std::unique_ptr<Contender> make_tbb_flow_graph(const Settings& settings) {
  return std::make_unique<TbbFlowGraph>(settings);
}

}  // namespace bench::engine
