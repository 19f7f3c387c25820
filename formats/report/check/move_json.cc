#include "formats/report/check/move_json.h"

namespace cleave {

namespace {

// Of all accelerators, or of one of several.
template <class Shares>
void write_coverage(JsonText& json, const Shares& shares, bool are_flops_known) {
  json.begin_object("coverage", JsonText::Layout::one_line);
  json.number("nodes", shares.nodes.ratio());
  json.number("flops", are_flops_known ? std::optional(shares.flops.ratio()) : std::nullopt);
  json.number("parameter_bytes", shares.parameter_bytes.ratio());
  json.end_object();
}

}  // namespace

void write_measures(JsonText& json, const Measures& measures) {
  const bool are_flops_known = measures.flops.are_known();
  write_coverage(json, measures, are_flops_known);
  json.number("acc_subgraphs", measures.acc_subgraphs);
  json.number("cpu_nodes", measures.cpu_nodes);
  json.key("boundary_bytes");
  measures.is_any_boundary_known() ? json.number(measures.boundary_bytes) : json.null();
  json.flag("boundary_known", measures.is_boundary_known);
  json.number("qps", measures.is_boundary_known ? measures.qps : std::nullopt);
  json.number("latency_us", measures.latency_us);
  json.number("all_cpu_us", measures.all_cpu_us);
  if (measures.targets.empty()) return;
  json.begin_list("targets");
  for (const TargetMeasures& target : measures.targets) {
    json.begin_object();
    json.text("name", target.name);
    write_coverage(json, target, are_flops_known);
    json.number("partitions", target.parts);
    json.end_object();
  }
  json.end_list();
}

void write_move(JsonText& json, const CheckedMove& move, const std::vector<std::string>& targets) {
  const CheckedNode& node = move.node;
  json.text("node", node.name);
  json.text("op", node.op);
  json.text("from", place_name(move.from, targets));
  json.text("to", place_name(move.to, targets));
  json.text("cause", change_name(move.change));
  json.key("code");
  node.code == ReasonCode::none ? json.null() : json.text(reason_code_name(node.code));
  json.text("detail", node.detail);
  json.key("because");
  node.because.empty() ? json.null() : json.text(node.because);
}

}  // namespace cleave
