// Why a node is not on the accelerator: a code, and the node or rule to blame. The pass that takes
// a node off the accelerator records the reason in its result; reports and drawings turn it into
// words.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/ids.h"

namespace cleave {

enum class ReasonCode : std::uint8_t {
  none,               // on the accelerator, or not decided
  no_rule,            // no allow rule of any list names the op
  rule_failed,        // an allow rule names it, but a condition fails (or a body node is refused)
  denied,             // a deny rule matches
  non_tensor_input,   // reads a non-tensor made by a CPU node
  non_tensor_output,  // makes a non-tensor that a CPU node, or the graph's output, reads
  fusion_group,       // tied by non-tensor data to a node that is on the CPU
  small_subgraph,     // its accelerator subgraph was below the minimum size
  host_shape,         // a shape computation kept on the host
  qdq_group,          // tied to a quantize/dequantize group with a CPU node
  over_cap,           // its accelerator subgraph was beyond the number to keep
  costs_more,         // an inference is faster with it on the CPU
  shared_memory,      // uses memory that is written in place, as a CPU node does
  part_limit,         // by itself it is beyond a list's limit on a whole partition
  pattern_failed,     // only a pattern names the op, and it does not match around the node
  pattern_group,      // tied to a CPU node by the match of a pattern
  runtime_graph,      // what the runtime makes of it before it asks is refused
  part_condition,     // its accelerator subgraph lacks what a list asks of a whole partition
};
inline constexpr int kReasonCodeCount = 18;

// "no_rule", ... as reports write it; "" for none.
std::string_view reason_code_name(ReasonCode code);

// Why a placement by cost has a node elsewhere that one of several targets could run.
enum class Elsewhere : std::uint8_t {
  less_time,    // an inference takes less time
  less_energy,  // or draws less
  memory,       // without the limit of its memory it would be here
  required,     // it is required on another target
};

struct Reason {
  ReasonCode code = ReasonCode::none;
  Elsewhere elsewhere = Elsewhere::less_time;  // costs_more, of one of several targets
  std::uint16_t list = 0;          // of those with a rule, and part_condition: which list
  std::uint32_t rule = 0;          // rule_failed: index in its allow rules; denied: in its deny
                                   // rules; part_limit: which PartLimit; pattern_failed: in its
                                   // patterns; runtime_graph without `because`: the node of its
                                   // function body; part_condition: in PartConditions::min_ops,
                                   // or kNotOnly
  NodeId because = kNone<NodeId>;  // the node to blame; kNone for a rule, or the graph's output
  std::uint32_t size = 0;          // small_subgraph: the number of nodes in the subgraph;
                                   // part_limit: how many there are, of bytes in KiB, rounded up
                                   // pattern_failed: index in Support::misses
                                   // part_condition: how many nodes of the op there are
                                   // costs_more by memory: its limit in KiB, rounded up
  // costs_more: what the node, with the connected nodes that moved along with it, would add to the
  // inference on the one accelerator. An infinite compute_us: the time of one of them is unknown.
  float link_us = 0;
  float compute_us = 0;
  float launch_us = 0;
  bool operator==(const Reason&) const = default;
};

}  // namespace cleave
