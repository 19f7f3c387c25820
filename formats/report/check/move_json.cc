#include "formats/report/check/move_json.h"

namespace cleave {

void write_measures(JsonText& json, const Measures& measures) {
  json.begin_object("coverage", JsonText::Layout::one_line);
  json.number("nodes", measures.nodes.ratio());
  json.number("flops", measures.flops.ratio());
  json.number("parameter_bytes", measures.parameter_bytes.ratio());
  json.end_object();
  json.number("acc_subgraphs", measures.acc_subgraphs);
  json.number("cpu_nodes", measures.cpu_nodes);
  json.number("boundary_bytes", measures.boundary_bytes);
  json.flag("boundary_known", measures.is_boundary_known);
  json.number("qps", measures.qps);
  json.number("latency_us", measures.latency_us);
  json.number("all_cpu_us", measures.all_cpu_us);
}

void write_move(JsonText& json, const CheckedMove& move) {
  const CheckedNode& node = move.node;
  json.text("node", node.name);
  json.text("op", node.op);
  json.text("from", place_name(move.from));
  json.text("to", place_name(move.to));
  json.text("cause", change_name(move.change));
  json.key("code");
  node.code == ReasonCode::none ? json.null() : json.text(reason_code_name(node.code));
  json.text("detail", node.detail);
  json.key("because");
  node.because.empty() ? json.null() : json.text(node.because);
}

}  // namespace cleave
