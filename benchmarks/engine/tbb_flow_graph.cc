#include <memory>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "contender.h"

namespace bench::engine {
namespace {

using oneapi::tbb::flow::continue_msg;
using oneapi::tbb::flow::continue_node;

/// A flow graph that is built anew for each run; pushing is building, and nothing runs before the
/// last push.
class TbbFlowGraph final : public Contender {
 public:
  std::string name() const override { return "TBB flow graph"; }

  void prepare(const Program& program) override { program_ = &program; }

  Times run(const Body& body) override {
    Times times;
    arena_.execute([&] {
      const auto start = std::chrono::steady_clock::now();
      {
        oneapi::tbb::flow::graph graph;
        std::vector<std::unique_ptr<Node>> nodes = build(graph, body);
        times.submit = std::chrono::steady_clock::now() - start;
        for (const auto& node : nodes) {
          if (node->is_first) node->node.try_put(continue_msg());
        }
        graph.wait_for_all();
        times.total = std::chrono::steady_clock::now() - start;
      }
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
  struct LastUse {
    Node* writer = nullptr;
    std::vector<Node*> readers;
  };

  static void depend(Node& node, Node* earlier) {
    if (earlier == nullptr || earlier == &node) return;
    oneapi::tbb::flow::make_edge(earlier->node, node.node);
    node.is_first = false;
  }

  std::vector<std::unique_ptr<Node>> build(oneapi::tbb::flow::graph& graph, const Body& body) {
    std::vector<LastUse> last(static_cast<std::size_t>(program_->variables));
    std::vector<std::unique_ptr<Node>> nodes;
    nodes.reserve(program_->operations.size());
    for (std::size_t i = 0; i < program_->operations.size(); ++i) {
      Node& node = *nodes.emplace_back(std::make_unique<Node>(graph, body, i));
      for (const int v : program_->operations[i].reads) {
        LastUse& use = last[static_cast<std::size_t>(v)];
        depend(node, use.writer);
        use.readers.push_back(&node);
      }
      for (const int v : program_->operations[i].writes) {
        LastUse& use = last[static_cast<std::size_t>(v)];
        if (use.readers.empty()) depend(node, use.writer);
        for (Node* reader : use.readers) depend(node, reader);
        use.readers.clear();
        use.writer = &node;
      }
    }
    return nodes;
  }

  oneapi::tbb::global_control limit_{oneapi::tbb::global_control::max_allowed_parallelism,
                                     kWorkers + 1};
  oneapi::tbb::task_arena arena_{kWorkers + 1};
  const Program* program_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> make_tbb_flow_graph() { return std::make_unique<TbbFlowGraph>(); }

}  // namespace bench::engine
