// Steps:
// 1. with times: compare them, and be done;
// 2. judge the share of the work, the number of partitions, and the work for each byte;
// 3. find the op that alone makes most CPU partitions.
#include "core/measures/worth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace cleave {
namespace {

// Below this, what the estimate leaves out may turn the answer.
constexpr double kClearSpeedup = 1.1;
constexpr double kMostWork = 0.75;
constexpr double kHalfTheWork = 0.5;
// One call costs as much as tens of small operators; a large model can bear more calls.
constexpr double kNodesPerPartition = 500;
constexpr double kFewNodesPerPartition = 50;
// The FLOPs that a CPU of 500 GFLOP/s does while a link of 31.5 GB/s (gen4x16) moves a byte.
constexpr double kFlopsPerByte = 16;
constexpr double kFewFlopsPerByte = 4;

Worth answer_of(double value, double yes, double maybe) {
  return value >= yes ? Worth::yes : value >= maybe ? Worth::maybe : Worth::no;
}

// Without FLOPs of some node the share of the known ones misleads.
bool are_flops_known(const Coverages& coverage) {
  return coverage.unknown_flops == 0 && coverage.flops.total > 0;
}

class WorthJudge {
 public:
  WorthJudge(const Graph& graph, const Split& split, const Preview& preview,
             const InferenceTime* time)
      : graph_(graph), split_(split), preview_(preview), time_(time) {
    const auto& devices = split.partition.devices;
    acc_parts_ = static_cast<double>(std::count(devices.begin(), devices.end(), Device::acc));
  }

  WorthVerdict run() {
    if (!judge_time()) {
      judge_work();
      if (acc_parts_ > 0) {
        judge_partitions();
        judge_intensity();
      }
    }
    for (const WorthCriterion& criterion : verdict_.criteria) {
      verdict_.answer = std::max(verdict_.answer, criterion.answer);
    }
    if (verdict_.answer != Worth::yes && acc_parts_ > 1) find_blamed();
    return std::move(verdict_);
  }

 private:
  void add(WorthCriterion::Kind kind, double value, double yes, double maybe, Worth answer) {
    verdict_.criteria.push_back({kind, value, yes, maybe, answer});
  }

  // False when the times are not known.
  bool judge_time() {
    verdict_.answer = Worth::yes;
    if (time_ == nullptr) return false;
    const Latency& latency = time_->asked();
    if (!latency.total_us || !latency.all_cpu_us || *latency.total_us <= 0) return false;
    const double speedup = *latency.all_cpu_us / *latency.total_us;
    Worth answer = answer_of(speedup, kClearSpeedup, 1);
    if (compared_with_cpu(*time_) == CpuVerdict::not_known) answer = Worth::maybe;
    add(WorthCriterion::Kind::speedup, speedup, kClearSpeedup, 1, answer);
    return true;
  }

  void judge_work() {
    const Coverages& coverage = preview_.coverage;
    const double share =
        are_flops_known(coverage) ? coverage.flops.ratio() : coverage.nodes.ratio();
    add(WorthCriterion::Kind::work, share, kMostWork, kHalfTheWork,
        answer_of(share, kMostWork, kHalfTheWork));
  }

  void judge_partitions() {
    const double nodes = preview_.coverage.nodes.acc;
    const double yes = std::max(1.0, std::floor(nodes / kNodesPerPartition));
    const double maybe = std::max(2.0, std::floor(nodes / kFewNodesPerPartition));
    add(WorthCriterion::Kind::partitions, acc_parts_, yes, maybe,
        answer_of(-acc_parts_, -yes, -maybe));
  }

  void judge_intensity() {
    if (!are_flops_known(preview_.coverage)) return;
    double bytes = 0;
    for (const PartId part : split_.partition.parts()) {
      if (!split_.partition.is_acc(part)) continue;
      const PartNumbers& numbers = preview_.parts[part];
      for (const Hazard& hazard : numbers.hazards) {
        if (hazard.kind == Hazard::Kind::unknown_bytes) return;
      }
      bytes += static_cast<double>(numbers.input_bytes) + static_cast<double>(numbers.output_bytes);
    }
    if (bytes <= 0) return;
    const double intensity = preview_.coverage.flops.acc / bytes;
    add(WorthCriterion::Kind::intensity, intensity, kFlopsPerByte, kFewFlopsPerByte,
        answer_of(intensity, kFlopsPerByte, kFewFlopsPerByte));
  }

  // Of a CPU partition: the first node that is there by its own fault, if all such nodes have its op.
  NodeId only_culprit(PartId part) const {
    NodeId culprit = kNone<NodeId>;
    for (const NodeId node : split_.partition.nodes(part)) {
      const Reason& reason = split_.reasons[node];
      const bool is_own =
          reason.code == ReasonCode::no_rule || reason.code == ReasonCode::rule_failed ||
          reason.code == ReasonCode::denied || reason.code == ReasonCode::pattern_failed;
      if (!is_own || reason.because != kNone<NodeId>) continue;
      if (culprit == kNone<NodeId>) culprit = node;
      if (op_of(culprit) != op_of(node)) return kNone<NodeId>;
    }
    return culprit;
  }

  std::pair<NameId, NameId> op_of(NodeId node) const {
    return {graph_.node(node).domain, graph_.node(node).op};
  }

  void find_blamed() {
    std::map<std::pair<NameId, NameId>, std::pair<NodeId, std::size_t>> found;
    for (const PartId part : split_.partition.parts()) {
      if (split_.partition.is_acc(part)) continue;
      const NodeId culprit = only_culprit(part);
      if (culprit == kNone<NodeId>) continue;
      auto& [node, count] = found.try_emplace(op_of(culprit), culprit, 0).first->second;
      ++count;
      node = std::min(node, culprit);
    }
    for (const auto& [op, one] : found) {
      const auto& [node, count] = one;
      const bool is_more = count > verdict_.blamed_partitions ||
                           (count == verdict_.blamed_partitions && node < verdict_.blamed);
      if (!is_more) continue;
      verdict_.blamed = node;
      verdict_.blamed_partitions = count;
    }
  }

  const Graph& graph_;
  const Split& split_;
  const Preview& preview_;
  const InferenceTime* time_;
  double acc_parts_ = 0;
  WorthVerdict verdict_;
};

}  // namespace

std::optional<WorthVerdict> judge_worth(const Graph& graph, const Split& split,
                                        const Preview& preview, const InferenceTime* time) {
  if (graph.node_count() == 0) return std::nullopt;
  return WorthJudge(graph, split, preview, time).run();
}

}  // namespace cleave
