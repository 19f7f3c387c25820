// Both rules only remove nodes, and each removal can only cause more. So the result does not depend
// on the order, and one worklist of removed nodes is enough.
#include "core/split/acc_finder.h"

#include <utility>
#include <vector>

namespace cleave {
namespace {

class AccFinder {
 public:
  AccFinder(const Graph& graph, const Support& support)
      : graph_(graph), found_{support.supported, support.reasons} {}

  AccNodes run() && {
    for (const NodeId node : graph_.nodes()) {
      if (!found_.nodes.contains(node)) left_.push_back(node);
    }
    drop_users();
    drop_makers();
    return std::move(found_);
  }

 private:
  bool makes_only_tensors(NodeId node) const {
    for (const ValueId value : graph_.outputs(node)) {
      if (!graph_.value(value).is_tensor()) return false;
    }
    return true;
  }

  void drop(NodeId node, ReasonCode code, NodeId because) {
    if (!found_.nodes.erase(node)) return;
    found_.reasons[node] = {.code = code, .because = because};
    left_.push_back(node);
  }

  // Drops the readers of a CPU node's non-tensor outputs.
  void drop_users_of(NodeId cpu) {
    if (makes_only_tensors(cpu)) return;
    for (const ValueId value : graph_.outputs(cpu)) {
      for (const NodeId user : graph_.users(value)) drop(user, ReasonCode::non_tensor_input, cpu);
    }
  }

  // Rule 1 alone, starting from every node that is on the CPU at first.
  void drop_users() {
    for (std::size_t next = 0; next < left_.size(); ++next) drop_users_of(left_[next]);
  }

  // Rule 2, and rule 1 for every node that it drops.
  void drop_makers() {
    const std::size_t settled = left_.size();
    for (const ValueId value : graph_.outputs()) {
      drop_maker_of(value, kNone<NodeId>);
    }
    for (std::size_t next = 0; next < left_.size(); ++next) {
      if (next >= settled) drop_users_of(left_[next]);
      for (const Operand& operand : graph_.operands(left_[next])) {
        drop_maker_of(operand.value, left_[next]);
      }
    }
  }

  // Drops the maker of a value that `reader`, on the CPU, reads, if the maker has a non-tensor
  // output.
  void drop_maker_of(ValueId value, NodeId reader) {
    const Value& read = graph_.value(value);
    if (read.kind != ValueKind::node_output || makes_only_tensors(read.producer)) return;
    drop(read.producer, ReasonCode::non_tensor_output, reader);
  }

  const Graph& graph_;
  AccNodes found_;
  std::vector<NodeId> left_;  // nodes outside the set, in the order in which they left it
};

}  // namespace

AccNodes find_acc_nodes(const Graph& graph, const Support& support, const SplitOptions& options) {
  if (options.allow_non_tensor) return {support.supported, support.reasons};
  return AccFinder(graph, support).run();
}

}  // namespace cleave
