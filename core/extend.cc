// Extension backwards. A unit (a node, or a fusion group) is blocked by the units that read from
// it: a plain node blocks while it stands before the target; a group blocks wherever it stands. A
// candidate moves when every unit that blocks it was moved by this call.
#include <algorithm>
#include <vector>

#include "core/contraction.h"
#include "core/subgraphs.h"

namespace cleave {
namespace {

class Extension {
 public:
  Extension(const Graph& graph, const Fusions& fusions, Subgraphs& subgraphs, PartId target)
      : graph_(graph),
        acc_(fusions.acc.nodes),
        units_(graph, fusions),
        subgraphs_(subgraphs),
        target_(target),
        blockers_(units_.unit_count(), 0),
        candidate_(units_.unit_count(), 0),
        moved_(units_.unit_count(), 0) {
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      if (blocks(unit)) each_producer(unit, [&](std::uint32_t maker) { ++blockers_[maker]; });
    }
  }

  std::vector<NodeId> run() && {
    for (const NodeId node : graph_.nodes()) {
      if (subgraphs_.subgraph_of[node] == target_) offer_producers(units_.unit_of(node));
    }
    while (!ready_.empty()) {
      const std::uint32_t unit = ready_.back();
      ready_.pop_back();
      move(unit);
    }
    std::sort(result_.begin(), result_.end());
    return std::move(result_);
  }

 private:
  bool blocks(std::uint32_t unit) const {
    return units_.is_group(unit) || subgraphs_.subgraph_of[units_.first(unit)] < target_;
  }

  // The units that `unit` reads from, once for each operand.
  template <class Visit>
  void each_producer(std::uint32_t unit, const Visit& visit) const {
    for (const NodeId node : units_.nodes(unit)) {
      for (const Operand& operand : graph_.operands(node)) {
        const Value& value = graph_.value(operand.value);
        if (value.kind != ValueKind::node_output) continue;
        const std::uint32_t maker = units_.unit_of(value.producer);
        if (maker != unit) visit(maker);
      }
    }
  }

  void offer_producers(std::uint32_t unit) {
    each_producer(unit, [&](std::uint32_t maker) {
      const NodeId node = units_.first(maker);
      if (candidate_[maker] != 0 || subgraphs_.subgraph_of[node] == target_) return;
      candidate_[maker] = 1;
      queue_when_free(maker);
    });
  }

  void queue_when_free(std::uint32_t unit) {
    if (candidate_[unit] == 0 || moved_[unit] != 0 || blockers_[unit] != 0) return;
    if (!acc_.contains(units_.first(unit))) return;
    moved_[unit] = 1;
    ready_.push_back(unit);
  }

  void move(std::uint32_t unit) {
    if (blocks(unit)) {
      each_producer(unit, [&](std::uint32_t maker) {
        --blockers_[maker];
        queue_when_free(maker);
      });
    }
    for (const NodeId node : units_.nodes(unit)) {
      --subgraphs_.sizes[index(subgraphs_.subgraph_of[node])];
      ++subgraphs_.sizes[index(target_)];
      subgraphs_.subgraph_of[node] = target_;
      result_.push_back(node);
    }
    offer_producers(unit);
  }

  const Graph& graph_;
  const NodeSet& acc_;
  const Contraction units_;
  Subgraphs& subgraphs_;
  const PartId target_;
  std::vector<std::uint32_t> blockers_;  // by unit: reads by units that block and have not moved
  std::vector<std::uint8_t> candidate_, moved_;
  std::vector<std::uint32_t> ready_;
  std::vector<NodeId> result_;
};

}  // namespace

std::vector<NodeId> extend_subgraph(const Graph& graph, const Fusions& fusions,
                                    Subgraphs& subgraphs, PartId target) {
  return Extension(graph, fusions, subgraphs, target).run();
}

}  // namespace cleave
