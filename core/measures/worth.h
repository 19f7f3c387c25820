// WorthVerdict: whether a split is worth it, from criteria with stated thresholds.
//
// With times there is one criterion, the time of an inference against the CPU alone. Without times
// there are three: the share of the work on the accelerator, the number of accelerator partitions
// against the work in them, and the work for each byte that crosses the link. The worst of them
// decides. One partition with three quarters of the model is a yes for ONNX Runtime's usability
// checker, too, and two are a maybe; it counts nodes only, so that it says no to three partitions of
// 13 GFLOP each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/measures/inference_time.h"
#include "core/measures/open_sizes.h"
#include "core/measures/preview.h"
#include "core/split/split.h"

namespace cleave {

enum class Worth : std::uint8_t { yes, maybe, no };

struct WorthCriterion {
  enum class Kind : std::uint8_t {
    speedup,     // the time on the CPU alone, divided by that of the split
    work,        // share on the accelerator
    partitions,  // on the accelerator: each is a call, with transfers to it and back
    intensity,   // FLOPs on the accelerator for each byte that crosses the link
  };
  Kind kind;
  double value = 0;
  double yes = 0;    // `value` is at least this, of partitions at most
  double maybe = 0;  // the same
  Worth answer = Worth::no;
};

// What the criteria count as work.
enum class WorkBasis : std::uint8_t {
  flops,           // all are known
  flops_at_first,  // at the first sizes of open dims; unknown are the accelerator's at most
  nodes,           // other FLOPs are not known, or nothing has any
  times,           // nothing: times are known
};

struct WorthVerdict {
  Worth answer = Worth::no;
  WorkBasis basis = WorkBasis::times;
  double acc_work = 0;                   // FLOPs or nodes
  bool is_at_least = false;              // some FLOPs of the accelerator are not known
  std::vector<WorthCriterion> criteria;  // at least one
  // The op that alone keeps most of the CPU partitions from joining the accelerator partitions around
  // them: the first such node, and how many partitions; kNone if there is none.
  NodeId blamed = kNone<NodeId>;
  std::size_t blamed_partitions = 0;
};

// nullopt for a model without nodes. `time`: null when there is none. `sizes`: of the open dims, with
// the split's parts; null when none is open. Linear.
std::optional<WorthVerdict> judge_worth(const Graph& graph, const Split& split,
                                        const Preview& preview, const InferenceTime* time,
                                        const OpenSizes* sizes = nullptr);

}  // namespace cleave
