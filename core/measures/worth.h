// WorthVerdict: whether a split is worth it, from criteria with stated thresholds.
//
// With times there is one criterion, the time of an inference against the CPU alone. Without times
// there are three: the share of the work on the accelerator, the number of accelerator partitions,
// and the work for each byte that crosses the link. The worst of them decides. The first two are
// those of ONNX Runtime's usability checker for mobile; it has no third one, and one limit on
// partitions for models of all sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/measures/inference_time.h"
#include "core/measures/preview.h"
#include "core/split/split.h"

namespace cleave {

enum class Worth : std::uint8_t { yes, maybe, no };

struct WorthCriterion {
  enum class Kind : std::uint8_t {
    speedup,     // the time on the CPU alone, divided by that of the split
    work,        // share of the FLOPs on the accelerator, of the nodes where FLOPs are not known
    partitions,  // on the accelerator: each is a call, with transfers to it and back
    intensity,   // FLOPs on the accelerator for each byte that crosses the link
  };
  Kind kind;
  double value = 0;
  double yes = 0;    // `value` is at least this, of partitions at most
  double maybe = 0;  // the same
  Worth answer = Worth::no;
};

struct WorthVerdict {
  Worth answer = Worth::no;
  std::vector<WorthCriterion> criteria;  // at least one
  // The op that alone keeps most of the CPU partitions from joining the accelerator partitions around
  // them: the first such node, and how many partitions; kNone if there is none.
  NodeId blamed = kNone<NodeId>;
  std::size_t blamed_partitions = 0;
};

// nullopt for a model without nodes. `time`: null when there is none. Linear.
std::optional<WorthVerdict> judge_worth(const Graph& graph, const Split& split,
                                        const Preview& preview, const InferenceTime* time);

}  // namespace cleave
