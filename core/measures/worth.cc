// Steps:
// 1. with times: compare them, and be done;
// 2. find what is known of the work, and of the bytes over the link;
// 3. judge the share of the work, the number of partitions, and the work for each byte;
// 4. find the op that alone makes most CPU partitions.
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
// A call takes some 50 us, in which a CPU of 500 GFLOP/s does 25 MFLOP: with ten times as much work in
// a partition calls take a tenth of what is won, with twice as much half of it.
constexpr double kFlopsPerPartition = 250e6;
constexpr double kFewFlopsPerPartition = 50e6;
// Where FLOPs are not known: one call costs as much as tens of small operators.
constexpr double kNodesPerPartition = 500;
constexpr double kFewNodesPerPartition = 50;
// The FLOPs that a CPU of 500 GFLOP/s does while a link of 31.5 GB/s (gen4x16) moves a byte.
constexpr double kFlopsPerByte = 16;
constexpr double kFewFlopsPerByte = 4;

Worth answer_of(double value, double yes, double maybe) {
  return value >= yes ? Worth::yes : value >= maybe ? Worth::maybe : Worth::no;
}

struct KnownWork {
  double acc = 0, total = 0;
  double bytes = 0;  // over the link, into accelerator parts and out of them
  bool are_bytes_known = true;
  bool is_at_least = false;
};

// nullopt unless all FLOPs are known: the share of the known ones misleads.
std::optional<KnownWork> known_work(const Partition& partition, const Preview& preview) {
  const Coverages& coverage = preview.coverage;
  if (coverage.flops.unknown > 0 || coverage.flops.total <= 0) return std::nullopt;
  KnownWork work{coverage.flops.acc, coverage.flops.total};
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    const PartNumbers& numbers = preview.parts[part];
    work.bytes += static_cast<double>(numbers.input_bytes + numbers.output_bytes);
    for (const Hazard& hazard : numbers.hazards) {
      if (hazard.kind == Hazard::Kind::unknown_bytes) work.are_bytes_known = false;
    }
  }
  return work;
}

// The same at the first sizes of open dims; what stays unknown of the accelerator makes the share a
// lower bound.
std::optional<KnownWork> work_at_first(const Partition& partition, const OpenSizes& sizes) {
  if (!sizes.parts || sizes.flops.at_first <= 0) return std::nullopt;
  KnownWork work{sizes.acc_flops.at_first, sizes.flops.at_first};
  for (const PartId part : partition.parts()) {
    const OpenPart& numbers = (*sizes.parts)[part];
    if (!partition.is_acc(part)) {
      if (numbers.flops.is_partial) return std::nullopt;
      continue;
    }
    work.bytes += numbers.input_bytes.at_first + numbers.output_bytes.at_first;
    if (numbers.input_bytes.is_partial || numbers.output_bytes.is_partial) {
      work.are_bytes_known = false;
    }
  }
  work.is_at_least = sizes.flops.is_partial;
  return work;
}

class WorthJudge {
 public:
  WorthJudge(const Graph& graph, const Split& split, const Preview& preview,
             const InferenceTime* time, const OpenSizes* sizes)
      : graph_(graph), split_(split), preview_(preview), time_(time), sizes_(sizes) {
    const auto& devices = split.partition.devices;
    acc_parts_ = static_cast<double>(std::count(devices.begin(), devices.end(), Device::acc));
  }

  WorthVerdict run() {
    verdict_.answer = Worth::yes;
    if (!judge_time()) {
      find_work();
      judge_work();
      if (work_.acc > 0) {
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
    if (time_ == nullptr) return false;
    const Latency& latency = time_->asked();
    if (!latency.total_us || !latency.all_cpu_us || *latency.total_us <= 0) return false;
    const double speedup = *latency.all_cpu_us / *latency.total_us;
    Worth answer = answer_of(speedup, kClearSpeedup, 1);
    if (compared_with_cpu(*time_) == CpuVerdict::not_known) answer = Worth::maybe;
    if (acc_parts_ == 0) answer = Worth::no;
    add(WorthCriterion::Kind::speedup, speedup, kClearSpeedup, 1, answer);
    return true;
  }

  void find_work() {
    verdict_.basis = WorkBasis::flops;
    auto work = known_work(split_.partition, preview_);
    if (!work && sizes_ != nullptr) {
      verdict_.basis = WorkBasis::flops_at_first;
      work = work_at_first(split_.partition, *sizes_);
    }
    if (!work) {
      verdict_.basis = WorkBasis::nodes;
      work = KnownWork{preview_.coverage.nodes.acc, preview_.coverage.nodes.total};
    }
    work_ = *work;
    verdict_.acc_work = work_.acc;
    verdict_.is_at_least = work_.is_at_least;
  }

  void judge_work() {
    const double share = work_.acc / work_.total;
    add(WorthCriterion::Kind::work, share, kMostWork, kHalfTheWork,
        answer_of(share, kMostWork, kHalfTheWork));
  }

  void judge_partitions() {
    const bool is_of_nodes = verdict_.basis == WorkBasis::nodes;
    const double much = is_of_nodes ? kNodesPerPartition : kFlopsPerPartition;
    const double few = is_of_nodes ? kFewNodesPerPartition : kFewFlopsPerPartition;
    const double yes = std::max(1.0, std::floor(work_.acc / much));
    const double maybe = std::max(2.0, std::floor(work_.acc / few));
    add(WorthCriterion::Kind::partitions, acc_parts_, yes, maybe,
        answer_of(-acc_parts_, -yes, -maybe));
  }

  void judge_intensity() {
    if (verdict_.basis == WorkBasis::nodes || work_.bytes <= 0) return;
    if (!work_.are_bytes_known || work_.is_at_least) return;
    const double intensity = work_.acc / work_.bytes;
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
  const OpenSizes* sizes_;
  KnownWork work_;
  double acc_parts_ = 0;
  WorthVerdict verdict_;
};

}  // namespace

std::optional<WorthVerdict> judge_worth(const Graph& graph, const Split& split,
                                        const Preview& preview, const InferenceTime* time,
                                        const OpenSizes* sizes) {
  if (graph.node_count() == 0) return std::nullopt;
  return WorthJudge(graph, split, preview, time, sizes).run();
}

}  // namespace cleave
