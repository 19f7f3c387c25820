#include "formats/report/drawings/viewers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/cost/cost.h"
#include "formats/base/json/text.h"
#include "formats/models/tflite/model.h"
#include "formats/report/drawings/dot_nodes.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

constexpr auto kOneLine = JsonText::Layout::one_line;

// What an entry is on. Netron searches by name; operators of TensorFlow Lite have none, and are found
// by their number in the subgraph, as are its tensors.
struct AttachmentTarget {
  std::string_view kind;
  std::string_view name = {};
  std::optional<std::uint32_t> number = {};
};

class Attachment {
 public:
  explicit Attachment(const Report& report)
      : report_(report),
        graph_(report.graph),
        partition_(report.split.partition),
        tflite_(report.model.tflite()) {}

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
  using Target = AttachmentTarget;

  Target of_model() const { return {"model"}; }
  Target of(NodeId node) const {
    Target target{"node", graph_.node(node).name};
    if (tflite_ != nullptr) target.number = tflite_->operators[index(node)];
    return target;
  }
  Target of(ValueId value) const {
    Target target{"value", graph_.value(value).name};
    if (tflite_ != nullptr) target.number = tflite_->tensors[index(value)];
    return target;
  }

  void begin_item(const Target& target, std::string_view name) {
    json_.begin_object(kOneLine);
    json_.text("kind", target.kind);
    if (target.number) {
      json_.text("identifier", std::to_string(*target.number));
    } else {  // Netron searches for the first line of a name.
      json_.text("target", target.name.substr(0, target.name.find('\n')));
    }
    json_.text("name", name);
    json_.key("value");
  }

  void add_text(const Target& target, std::string_view name, std::string_view value) {
    begin_item(target, name);
    json_.text(value);
    json_.text("type", "string");
    json_.end_object();
  }

  template <class Number>
  void add_number(const Target& target, std::string_view name, Number value) {
    begin_item(target, name);
    json_.number(value);
    json_.end_object();
  }

  void write_model_metadata() {
    add_text(of_model(), "support list", support_name(report_.lists));
    add_text(of_model(), "on the accelerator",
             coverage_text(report_.preview.coverage, "on the accelerator"));
  }

  void write_node_metadata(NodeId node) {
    const NodeCard card = node_card(report_, node);
    add_text(of(node), "partition", card.partition);
    add_text(of(node), "device", card.device);
    if (!card.why.empty()) add_text(of(node), "why on the CPU", card.why);
    for (const auto& [target, why] : card.why_not) {
      add_text(of(node), "why not on " + std::string(target), why);
    }
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
    add_text(of(value), "crosses", partition_.name(from) + " to " + to);
  }

  void write_model_metrics() {
    std::size_t acc = 0;
    for (const PartId part : partition_.parts()) acc += partition_.is_acc(part) ? 1U : 0U;
    add_number(of_model(), "accelerator partitions", acc);
    const auto bound = known_bound(report_.preview);
    if (bound && report_.targets.empty()) add_number(of_model(), "QPS", bound->shared_qps);
  }

  void write_node_metrics() {
    const PerNode<std::optional<double>> flops = node_flops(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (flops[node]) add_number(of(node), "FLOPs", *flops[node]);
    }
  }

  void write_value_metrics() {
    each_crossing([&](ValueId value, PartId) {
      const auto bytes = value_bytes(graph_, value);
      if (bytes) add_number(of(value), "bytes over the border", *bytes);
    });
  }

  const Report& report_;
  const Graph& graph_;
  const Partition& partition_;
  const TfliteModel* tflite_;  // null: of another format
  JsonText json_;
};

}  // namespace

std::string netron_attachment(const Report& report) { return Attachment(report).write(); }

namespace {

using Layout = JsonText::Layout;

constexpr std::string_view kRed = "#ffcdd2";

// One measure of the nodes that have it.
class NodeData {
 public:
  NodeData(const Graph& graph, std::string_view name) : graph_(graph) {
    json_.begin_object();
    json_.text("name", name);
    json_.begin_object("results");
  }

  // Returns false, without writing, for a node without outputs: it has no key.
  bool begin(NodeId node) {
    const IdRange<ValueId> outputs = graph_.outputs(node);
    if (outputs.empty()) return false;
    json_.text_key(graph_.value(outputs[0]).name);
    json_.begin_object(Layout::one_line);
    json_.key("value");
    return true;
  }
  void add(NodeId node, std::string_view value, std::string_view colour) {
    if (!begin(node)) return;
    json_.text(value);
    if (!colour.empty()) json_.text("bgColor", colour);
    json_.end_object();
  }
  void add(NodeId node, double value) {
    if (!begin(node)) return;
    json_.number(value);
    json_.end_object();
  }

  JsonText& end_results() {
    json_.end_object();
    return json_;
  }
  std::string finish() && {
    json_.end_object();
    return std::move(json_).finish();
  }
  // For texts: a group shows how often each text occurs in it; there is no sum.
  std::string finish_words() && {
    JsonText& json = end_results();
    json.flag("showExpandedSummaryOnGroupNode", true);
    json.flag("hideInAggregatedStatsTable", true);
    json.flag("hideInChildrenStatsTable", true);
    return std::move(*this).finish();
  }

 private:
  const Graph& graph_;
  JsonText json_;
};

std::string partition_data(const Report& report) {
  static constexpr std::array<std::string_view, 6> kGreens = {"#c8e6c9", "#a5d6a7", "#dcedc8",
                                                              "#b2dfdb", "#c5e1a5", "#b2ebf2"};
  const Partition& partition = report.split.partition;
  NodeData data(report.graph, "partition");
  for (const NodeId node : report.graph.nodes()) {
    const PartId part = partition.part_of[node];
    const TargetId target = colour_of(report, part);  // of several each has its colour
    const std::string_view own =
        partition.is_acc(part) ? kGreens[index(part) / 2 % kGreens.size()] : kRed;
    data.add(node, partition.name(part),
             target == kNone<TargetId> ? own : target_colours(target).fill);
  }
  return std::move(data).finish_words();
}

std::string reason_data(const Report& report) {
  NodeData data(report.graph, "why on the CPU");
  for (const NodeId node : report.graph.nodes()) {
    const Reason& reason = report.split.reasons[node];
    if (reason.code != ReasonCode::none) data.add(node, reason_code_name(reason.code), kRed);
  }
  return std::move(data).finish_words();
}

std::string flops_data(const Report& report) {
  const PerNode<std::optional<double>> flops = node_flops(report.graph);
  NodeData data(report.graph, "FLOPs");
  for (const NodeId node : report.graph.nodes()) {
    if (flops[node]) data.add(node, *flops[node]);
  }
  JsonText& json = data.end_results();
  json.begin_list("gradient", Layout::one_line);
  for (const auto& [stop, colour] : {std::pair{0, "#fffde7"}, std::pair{1, "#e65100"}}) {
    json.begin_object();
    json.number("stop", stop);
    json.text("bgColor", colour);
    json.end_object();
  }
  json.end_list();
  return std::move(data).finish();
}

}  // namespace

std::vector<std::string> model_explorer_file_names() {
  return {"partition.json", "reason.json", "flops.json"};
}

std::vector<NamedText> model_explorer_files(const Report& report) {
  const std::vector<std::string> names = model_explorer_file_names();
  return {{names[0], partition_data(report)},
          {names[1], reason_data(report)},
          {names[2], flops_data(report)}};
}

}  // namespace cleave
