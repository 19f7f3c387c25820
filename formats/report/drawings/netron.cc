#include "formats/report/drawings/netron.h"

#include "core/cost/cost.h"
#include "formats/base/json/text.h"
#include "formats/report/words/coverage_words.h"
#include "formats/report/words/input_names.h"
#include "formats/report/words/reason_text.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

constexpr auto kOneLine = JsonText::Layout::one_line;

class Attachment {
 public:
  explicit Attachment(const Report& report)
      : report_(report),
        graph_(report.model.graph),
        partition_(report.split.partition),
        reasons_(reason_context(report)) {}

  std::string write() {
    json_.begin_object();
    json_.text("signature", "netron:attachment");
    json_.begin_list("metadata");
    write_model_metadata();
    for (const NodeId node : graph_.nodes()) write_node_metadata(node);
    each_crossing([&](ValueId value, PartId part) { write_crossing(value, part); });
    json_.end_list();
    json_.begin_list("metrics");
    write_model_metrics();
    write_node_metrics();
    write_value_metrics();
    json_.end_list();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void begin_item(std::string_view kind, std::string_view target, std::string_view name) {
    json_.begin_object(kOneLine);
    json_.text("kind", kind);
    // Netron searches for the first line of a name.
    json_.text("target", target.substr(0, target.find('\n')));
    json_.text("name", name);
    json_.key("value");
  }

  void add_text(std::string_view kind, std::string_view target, std::string_view name,
                std::string_view value) {
    begin_item(kind, target, name);
    json_.text(value);
    json_.text("type", "string");
    json_.end_object();
  }

  template <class Number>
  void add_number(std::string_view kind, std::string_view target, std::string_view name,
                  Number value) {
    begin_item(kind, target, name);
    json_.number(value);
    json_.end_object();
  }

  void write_model_metadata() {
    add_text("model", "", "support list", support_name(report_.lists));
    add_text("model", "", "on the accelerator",
             coverage_text(report_.preview.coverage, "on the accelerator"));
  }

  void write_node_metadata(NodeId node) {
    const std::string_view name = graph_.node(node).name;
    const PartId part = partition_.part_of[node];
    add_text("node", name, "partition", partition_.name(part));
    add_text("node", name, "device", partition_.is_acc(part) ? "accelerator" : "CPU");
    const Reason& reason = report_.split.reasons[node];
    if (reason.code == ReasonCode::none) return;
    add_text("node", name, "why on the CPU", reason_text(reasons_, node, reason));
  }

  // Values that leave a part for another part or for the caller.
  template <class Visit>
  void each_crossing(const Visit& visit) const {
    for (const PartId part : partition_.parts()) {
      for (const ValueId value : report_.split.boundaries.outputs[part]) visit(value, part);
    }
  }

  void write_crossing(ValueId value, PartId from) {
    std::string to;
    PartId last = from;
    for (const NodeId user : graph_.users(value)) {
      const PartId part = partition_.part_of[user];
      if (part == from || part == last) continue;
      to += (to.empty() ? "" : ", ") + partition_.name(part);
      last = part;
    }
    if (graph_.is_graph_output(value)) to += to.empty() ? "the caller" : ", the caller";
    add_text("value", graph_.value(value).name, "crosses", partition_.name(from) + " to " + to);
  }

  void write_model_metrics() {
    std::size_t acc = 0;
    for (const PartId part : partition_.parts()) acc += partition_.is_acc(part) ? 1U : 0U;
    add_number("model", "", "accelerator partitions", acc);
    const auto bound = known_bound(report_.preview);
    if (bound) add_number("model", "", "QPS", bound->max_qps);
  }

  void write_node_metrics() {
    const PerNode<std::optional<double>> flops = node_flops(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (flops[node]) add_number("node", graph_.node(node).name, "FLOPs", *flops[node]);
    }
  }

  void write_value_metrics() {
    each_crossing([&](ValueId value, PartId) {
      const auto bytes = value_bytes(graph_, value);
      if (bytes) add_number("value", graph_.value(value).name, "bytes over the border", *bytes);
    });
  }

  const Report& report_;
  const Graph& graph_;
  const Partition& partition_;
  ReasonContext reasons_;
  JsonText json_;
};

}  // namespace

std::string netron_attachment(const Report& report) { return Attachment(report).write(); }

}  // namespace cleave
