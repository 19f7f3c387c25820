// The report as JSON, field by field in the order of the format's description. Written as it is
// made: a report on a million nodes is as large as their names a few times over.
#include <array>
#include <numeric>

#include "core/cost.h"
#include "formats/json_text.h"
#include "formats/reason_text.h"
#include "formats/report.h"
#include "formats/report_words.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

class ReportWriter {
 public:
  explicit ReportWriter(const Report& report)
      : report_(report),
        graph_(report.model.graph),
        split_(report.split),
        partition_(report.split.partition),
        preview_(report.preview) {}

  std::string write() {
    json_.begin_object();
    json_.text("format", "cleave.report");
    json_.number("version", 1);
    write_model();
    write_settings();
    write_support();
    write_coverage(json_, preview_.coverage);
    write_names("constants", graph_.constants());
    write_members("acc_nodes_found", split_.acc_found.nodes);
    write_members("acc_nodes", split_.fusions.acc.nodes);
    write_fusion_groups();
    write_subgraphs();
    write_names("extended", split_.extended);
    write_partitions();
    write_node_map();
    write_link();
    write_cpu_reasons();
    write_notes();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_model() {
    std::size_t parameters = 0;
    for (const ValueId parameter : graph_.parameters()) {
      if (graph_.value(parameter).producer == kNone<NodeId>) ++parameters;
    }
    json_.begin_object("model");
    json_.text("path", report_.model.source.path());
    json_.text("format", model_format_name(report_.model.format));
    json_.text("name", graph_.name());
    json_.number("nodes", graph_.node_count());
    json_.number("values", graph_.value_count());
    json_.number("parameters", parameters);
    json_.number("parameter_bytes", preview_.coverage.model_parameter_bytes);
    json_.end_object();
  }

  void write_settings() {
    const SplitOptions& options = report_.options;
    json_.begin_object("settings");
    json_.number("min_acc_module_size", options.subgraphs.min_acc_size);
    json_.flag("skip_fusion", options.fusion.skip);
    json_.flag("allow_non_tensor", options.acc_finder.allow_non_tensor);
    json_.text("start", start_side_name(options.subgraphs.start));
    json_.text("acc_prefix", options.partition.acc_prefix);
    json_.text("non_acc_prefix", options.partition.non_acc_prefix);
    json_.text("extend", extend_text(options.extend));
    json_.end_object();
  }

  void write_support() {
    json_.begin_object("support");
    json_.text("name", support_name(report_.lists));
    json_.begin_list("files", Layout::one_line);
    for (const SupportList& list : report_.lists) json_.text(list.path);
    json_.end_list();
    json_.end_object();
  }

  // ---- node sets ----

  template <class Nodes>
  void write_names(std::string_view key, const Nodes& nodes) {
    json_.begin_list(key);
    for (const NodeId node : nodes) json_.text(graph_.node(node).name);
    json_.end_list();
  }

  void write_members(std::string_view key, const NodeSet& nodes) {
    json_.begin_list(key);
    for (const NodeId node : graph_.nodes()) {
      if (nodes.contains(node)) json_.text(graph_.node(node).name);
    }
    json_.end_list();
  }

  void write_fusion_groups() {
    json_.begin_list("fusion_groups");
    for (std::size_t i = 0; i < split_.fusions.group_count(); ++i) {
      json_.begin_list(Layout::one_line);
      for (const NodeId node : split_.fusions.group(id_at<GroupId>(i))) {
        json_.text(graph_.node(node).name);
      }
      json_.end_list();
    }
    json_.end_list();
  }

  // As they were before small ones were merged.
  void write_subgraphs() {
    const Subgraphs& found = split_.found.subgraphs;
    std::vector<std::string> names(found.count());
    const Partition subgraphs = make_partition(found.subgraph_of, std::move(names), found.devices);
    json_.begin_list("subgraphs_before");
    for (const PartId subgraph : subgraphs.parts()) {
      json_.begin_object();
      json_.flag("is_acc", subgraphs.is_acc(subgraph));
      write_names("nodes", subgraphs.nodes(subgraph));
      json_.end_object();
    }
    json_.end_list();
  }

  // ---- partitions ----

  void write_dim(Dim dim) {
    if (dim.is_fixed()) return json_.number(dim.size());
    if (dim.is_symbol()) return json_.text(graph_.text(dim.name()));
    json_.null();
  }

  void write_value(ValueId id) {
    const Value& value = graph_.value(id);
    json_.begin_object(Layout::one_line);
    json_.text("name", value.name);
    json_.text("type", value_type_name(value.type));
    json_.key("dtype");
    value.dtype == DType::unknown ? json_.null() : json_.text(dtype_name(value.dtype));
    json_.key("shape");
    if (value.is_tensor() && graph_.has_rank(id)) {
      json_.begin_list();
      for (const Dim dim : graph_.shape(id)) write_dim(dim);
      json_.end_list();
    } else {
      json_.null();
    }
    json_.number("bytes", value_bytes(graph_, id));
    json_.end_object();
  }

  void write_values(std::string_view key, std::span<const ValueId> values) {
    json_.begin_list(key);
    for (const ValueId value : values) write_value(value);
    json_.end_list();
  }

  void write_partition(PartId part) {
    const PartNumbers& numbers = preview_.parts[part];
    json_.begin_object();
    json_.text("name", partition_.name(part));
    json_.flag("is_acc", partition_.is_acc(part));
    write_names("nodes", partition_.nodes(part));
    write_values("inputs", split_.boundaries.inputs[part]);
    write_values("outputs", split_.boundaries.outputs[part]);
    json_.begin_list("parameters");
    for (const ValueId parameter : split_.boundaries.parameters[part]) {
      json_.text(graph_.value(parameter).name);
    }
    json_.end_list();
    json_.number("parameter_bytes", numbers.parameter_bytes);
    json_.number("input_bytes", numbers.input_bytes);
    json_.number("output_bytes", numbers.output_bytes);
    json_.number("flops", numbers.flops);
    json_.number("qps", numbers.qps);
    json_.begin_list("hazards");
    for (const Hazard& hazard : numbers.hazards) json_.text(hazard_text(graph_, hazard));
    json_.end_list();
    json_.end_object();
  }

  void write_partitions() {
    json_.begin_list("partitions");
    for (const PartId part : partition_.parts()) write_partition(part);
    json_.end_list();
  }

  void write_node_map() {
    json_.begin_object("node_map");
    for (const NodeId node : graph_.nodes()) {
      json_.text_key(graph_.node(node).name);
      json_.text(partition_.name(partition_.part_of[node]));
    }
    json_.end_object();
  }

  // ---- what follows ----

  void write_link() {
    json_.key("link");
    if (!preview_.bound) return json_.null();
    const LinkBound& bound = *preview_.bound;
    json_.begin_object();
    json_.number("bandwidth", preview_.link.bytes_per_second);
    json_.text("name", preview_.link.name);
    json_.number("max_qps", bound.max_qps);
    json_.text("bottleneck", partition_.name(bound.bottleneck));
    json_.number("max_qps_half_duplex", bound.max_qps_half_duplex);
    json_.number("shared_qps", bound.shared_qps);
    json_.number("shared_qps_half_duplex", bound.shared_qps_half_duplex);
    json_.end_object();
  }

  void write_cpu_reasons() {
    const ReasonContext context{graph_, report_.lists, report_.facts,
                                report_.options.subgraphs.min_acc_size};
    json_.begin_list("cpu_reasons");
    for (const NodeId node : graph_.nodes()) {
      if (partition_.is_acc(partition_.part_of[node])) continue;
      const Reason& reason = split_.reasons[node];
      json_.begin_object(Layout::one_line);
      json_.text("node", graph_.node(node).name);
      json_.text("code", reason_code_name(reason.code));
      json_.text("detail", reason_text(context, node, reason));
      json_.key("because");
      reason.because == kNone<NodeId> ? json_.null() : json_.text(graph_.node(reason.because).name);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_notes() {
    json_.begin_list("notes");
    for (const std::string& note : report_.notes) json_.text(note);
    json_.end_list();
  }

  const Report& report_;
  const Graph& graph_;
  const Split& split_;
  const Partition& partition_;
  const Preview& preview_;
  JsonText json_;
};

}  // namespace

std::string report_json(const Report& report) { return ReportWriter(report).write(); }

}  // namespace cleave
