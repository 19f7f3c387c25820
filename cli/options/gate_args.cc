#include "cli/options/gate_args.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"

namespace cleave {
namespace {

double share_of(const std::string& text) {
  if (const auto share = parse_share(text)) return *share;
  refuse_option("--min-coverage", in_quotes(text) + share_refusal(text));
}

void add_coverage(GateLimits& limits, const std::string& text,
                  const std::vector<std::string>& targets) {
  const std::size_t equals = text.find('=');
  std::string what = equals == std::string::npos ? "nodes" : text.substr(0, equals);
  const std::string share = equals == std::string::npos ? text : text.substr(equals + 1);
  // "npu", "npu:flops": of a target.
  const std::string written = what;
  const std::size_t colon = what.find(':');
  std::string target = what.substr(0, colon);
  const bool is_of_target = std::find(targets.begin(), targets.end(), target) != targets.end();
  if (!is_of_target) {
    target.clear();
  } else {
    what = colon == std::string::npos ? "nodes" : what.substr(colon + 1);
  }
  const std::optional<GateKind> kind =
      what == "nodes"    ? std::optional(GateKind::min_node_coverage)
      : what == "flops"  ? std::optional(GateKind::min_flops_coverage)
      : what == "params" ? std::optional(GateKind::min_parameter_coverage)
                         : std::nullopt;
  if (!kind) {
    std::string why = in_quotes(written) + " is not nodes, flops or params";
    for (std::size_t i = 0; i < targets.size() && targets.size() > 1; ++i) {
      why += (i == 0 ? ", nor a target: " : ", ") + targets[i];
    }
    refuse_option("--min-coverage", why);
  }
  const double least = share_of(share);
  if (is_of_target && targets.size() > 1) {
    limits.target_coverage.push_back({target, *kind, least});
  } else {
    (*kind == GateKind::min_node_coverage    ? limits.node_coverage
     : *kind == GateKind::min_flops_coverage ? limits.flops_coverage
                                             : limits.parameter_coverage) = least;
  }
}

}  // namespace

CheckRequest gates_of(const Given& given) {
  CheckRequest gates{.limits = {}, .require = given.split.require};
  GateLimits& limits = gates.limits;
  for (const std::string& text : given.texts("--min-coverage")) {
    add_coverage(limits, text, given.split.lists.targets());
  }
  limits.acc_subgraphs = given.if_count("--max-acc-subgraphs");
  limits.cpu_nodes = given.if_count("--max-cpu-nodes");
  limits.unchecked = given.if_count("--max-unchecked");
  limits.boundary_bytes = given.if_bytes("--max-boundary-bytes");
  limits.qps = given.if_number("--min-qps");
  for (const std::string& text : given.texts("--max-latency")) {
    const double us = parse_duration(text).value_or(0) * 1e6;
    if (us > 0) {
      limits.latency_us = us;
    } else if (lower_case(text) == "cpu") {
      limits.faster_than_cpu = true;
    } else {
      refuse_option("--max-latency",
                    in_quotes(text) + " is not a time above 0: write 20ms, 20s or 5min, or cpu");
    }
  }
  limits.no_unknown_shapes = given.flag("--no-unknown-shapes");
  limits.new_cpu_nodes = given.if_count("--max-new-cpu-nodes");
  limits.regression = given.if_share("--allow-regression");
  return gates;
}

bool asks_anything(const CheckRequest& gates) {
  const GateLimits& limits = gates.limits;
  return limits.node_coverage || limits.flops_coverage || limits.parameter_coverage ||
         !limits.target_coverage.empty() || limits.acc_subgraphs || limits.cpu_nodes ||
         limits.unchecked || limits.boundary_bytes || limits.qps || limits.latency_us ||
         limits.faster_than_cpu || limits.no_unknown_shapes || !gates.require.empty();
}

CheckRequest with_default_gate(CheckRequest gates) {
  if (!gates.limits.new_cpu_nodes && !gates.limits.regression) gates.limits.new_cpu_nodes = 0;
  return gates;
}

}  // namespace cleave
