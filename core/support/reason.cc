#include "core/support/reason.h"

#include <array>

namespace cleave {

std::string_view reason_code_name(ReasonCode code) {
  // In the order of the enumerators.
  static constexpr std::array<std::string_view, kReasonCodeCount> kNames = {
      "",
      "no_rule",
      "rule_failed",
      "denied",
      "non_tensor_input",
      "non_tensor_output",
      "fusion_group",
      "small_subgraph",
      "host_shape",
      "qdq_group",
      "over_cap",
      "costs_more",
      "shared_memory",
      "part_limit",
      "pattern_failed",
      "pattern_group",
      "runtime_graph",
      "part_condition",
  };
  return kNames[static_cast<std::size_t>(code)];
}

}  // namespace cleave
