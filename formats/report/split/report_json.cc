// The report as JSON, field by field in the order of the format's description. Written as it is
// made: a report on a million nodes is as large as their names a few times over.

#include <numeric>

#include "core/lists/support.h"
#include "core/measures/measures.h"
#include "formats/base/json.h"
#include "formats/lists/options.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

namespace {

using Layout = JsonText::Layout;

class ReportWriter {
 public:
  ReportWriter(const Report& report, TakeText take)
      : report_(report),
        graph_(report.graph),
        split_(report.split),
        partition_(report.split.partition),
        preview_(report.preview),
        shapes_(report.same_shapes()),
        json_(std::move(take)) {
    if (!report.targets.empty()) dependencies_ = find_dependencies(graph_, split_.boundaries);
  }

  std::string write() {
    json_.begin_object();
    json_.text("format", "cleave.report");
    json_.number("version", 1);
    write_model(json_, report_.model, graph_, preview_.coverage.model_parameter_bytes);
    write_settings();
    write_support();
    write_coverage(json_, preview_.coverage);
    write_worth(json_, report_);
    write_open_sizes();
    write_names("constants", graph_.constants());
    write_host_shapes();
    write_members("acc_nodes_found", split_.acc_found.nodes);
    write_members("acc_nodes", split_.fusions.acc.nodes);
    write_fusion_groups();
    write_qdq_groups();
    write_patterns();
    write_subgraphs();
    write_cap();
    write_limit_cuts();
    write_names("extended", split_.extended);
    write_extensions_left_out();
    json_.number("distinct_acc_partitions", shapes_.distinct);
    write_targets();
    write_partitions();
    write_node_map();
    write_link();
    write_time();
    write_cpu_reasons();
    write_target_reasons();
    write_unchecked();
    write_chain();
    write_notes(json_, report_.notes);
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_settings() {
    json_.begin_object("settings");
    json_.text("infer", shape_inference_name(report_.model.bindings.inference));
    json_.text("fold", folding_name(report_.model.bindings.folding));
    write_bindings();
    cleave::write_settings(json_, report_.options);
    json_.end_object();
  }

  void write_bindings() {
    const ShapeBindings& bindings = report_.model.bindings;
    json_.begin_object("dims", Layout::one_line);
    for (const auto& dim : bindings.dims) {
      json_.text_key(dim.first);
      json_.number(dim.second);
    }
    json_.end_object();
    json_.begin_object("input_shapes", Layout::one_line);
    for (const auto& input : bindings.inputs) {
      json_.text_key(input.first);
      json_.begin_list();
      for (const std::int64_t size : input.second) size < 0 ? json_.null() : json_.number(size);
      json_.end_list();
    }
    json_.end_object();
    json_.begin_object("set_inputs", Layout::one_line);
    for (const auto& [name, value] : bindings.values) json_.text(name, value);
    json_.end_object();
    if (!bindings.signature.empty()) json_.text("signature", bindings.signature);
  }

  void write_support() {
    json_.begin_object("support");
    json_.text("name", support_name(report_.lists));
    json_.begin_list("files", Layout::one_line);
    for (const SupportList& list : report_.lists) json_.text(list.path);
    json_.end_list();
    json_.begin_list("contents");
    for (const SupportList& list : report_.lists) json_.text(list.text);
    json_.end_list();
    json_.flag("all_of", are_all_of(report_.lists));
    if (const auto view = given_view(report_.lists)) json_.text("as", graph_view_name(*view));
    const auto groups =
        runtime_groups(graph_, split_.support.supported, report_.lists, report_.facts);
    if (groups) {
      json_.begin_object("runtime", Layout::one_line);
      json_.text_key("nodes");
      json_.number(groups->nodes);
      json_.text_key("accepted");
      json_.number(groups->accepted);
      json_.text_key("partitions");
      json_.number(groups->partitions);
      json_.end_object();
    }
    json_.end_object();
  }

  // null when no dim is open, or it is not known how the numbers depend on them.
  void write_open_sizes() {
    json_.key("open_sizes");
    if (report_.open_sizes == nullptr) return json_.null();
    const OpenSizes& sizes = *report_.open_sizes;
    json_.begin_object();
    write_open_dims(json_, sizes);
    write_open_number(json_, "flops", sizes.flops, sizes);
    write_open_number(json_, "acc_flops", sizes.acc_flops, sizes);
    json_.begin_list("partitions");
    for (const PartId part : partition_.parts()) {
      const OpenPart& own = (*sizes.parts)[part];
      json_.begin_object();
      json_.text("name", partition_.name(part));
      write_open_number(json_, "flops", own.flops, sizes);
      write_open_number(json_, "input_bytes", own.input_bytes, sizes);
      write_open_number(json_, "output_bytes", own.output_bytes, sizes);
      json_.end_object();
    }
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

  void write_host_shapes() {
    json_.key("host_shapes");
    if (!report_.options.host_shapes) return json_.null();
    const HostShapes& shapes = split_.host_shapes;
    json_.begin_object();
    write_members("nodes", shapes.nodes);
    json_.number("to_acc", shapes.to_acc);
    json_.number("to_cpu", shapes.to_cpu);
    json_.number("subgraphs", split_.merged_count);
    json_.number("subgraphs_without", split_.count_without_host_shapes);
    json_.end_object();
  }

  void write_group(std::span<const NodeId> members) {
    json_.begin_list(Layout::one_line);
    for (const NodeId node : members) json_.text(graph_.node(node).name);
    json_.end_list();
  }

  void write_fusion_groups() {
    json_.begin_list("fusion_groups");
    for (std::size_t i = 0; i < split_.fusions.group_count(); ++i) {
      write_group(split_.fusions.group(id_at<GroupId>(i)));
    }
    json_.end_list();
  }

  void write_qdq_groups() {
    json_.begin_list("qdq_groups");
    for (std::size_t i = 0; i < split_.qdq_groups.count(); ++i) {
      write_group(split_.qdq_groups.group(i));
    }
    json_.end_list();
  }

  // The matches of patterns.
  void write_patterns() {
    const PatternMatches& matches = split_.support.patterns;
    json_.begin_list("patterns");
    for (std::size_t i = 0; i < matches.count(); ++i) {
      const SupportList& list = report_.lists[matches.matches[i].list];
      const Pattern& pattern = list.patterns[matches.matches[i].pattern];
      json_.begin_object(Layout::one_line);
      json_.text("name", pattern.name);
      json_.text("file", list.path);
      json_.number("line", pattern.line);
      write_names("nodes", matches.nodes_of(i));
      json_.end_object();
    }
    json_.end_list();
  }

  // The subgraphs before small ones were merged.
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

  // What the limit on subgraphs costs; null when no subgraph is over it.
  void write_cap() {
    const CapCost& cap = split_.cap;
    json_.key("cap");
    if (cap.subgraphs == 0) return json_.null();
    json_.begin_object(Layout::one_line);
    json_.number("kept", cap.kept);
    json_.number("subgraphs", cap.subgraphs);
    json_.number("nodes", cap.nodes);
    json_.number("flops", cap.flops);
    json_.number("link_bytes", cap.link_bytes);
    json_.end_object();
  }

  // What the lists' limits on whole partitions did; left out when they did nothing.
  void write_limit_cuts() {
    const LimitCuts& cuts = split_.limit_cuts;
    if (cuts.subgraphs == 0) return;
    json_.begin_object("part_limits", Layout::one_line);
    json_.number("subgraphs", cuts.subgraphs);
    json_.number("pieces", cuts.pieces);
    json_.number("nodes", cuts.nodes);
    json_.end_object();
  }

  // Left out when every extension was made.
  void write_extensions_left_out() {
    if (split_.extensions_left_out.empty()) return;
    json_.begin_list("extensions_left_out");
    for (const ExtensionLeftOut& left : split_.extensions_left_out) {
      json_.begin_object(Layout::one_line);
      json_.text("partition", acc_name(left.subgraph, report_.options));
      json_.number("nodes", left.nodes);
      json_.text("limit", part_limit_name(left.limit));
      json_.end_object();
    }
    json_.end_list();
  }

  // ---- partitions ----

  void write_partition(PartId part) {
    const PartNumbers& numbers = preview_.parts[part];
    json_.begin_object();
    json_.text("name", partition_.name(part));
    write_file(json_, report_.part_files, part);
    json_.flag("is_acc", partition_.is_acc(part));
    if (!report_.targets.empty()) write_target(part);
    write_names("nodes", partition_.nodes(part));
    write_values(json_, "inputs", graph_, split_.boundaries.inputs[part]);
    write_values(json_, "outputs", graph_, split_.boundaries.outputs[part]);
    json_.begin_list("parameters");
    for (const ValueId parameter : split_.boundaries.parameters[part]) {
      json_.text(graph_.value(parameter).name);
    }
    json_.end_list();
    json_.number("parameter_bytes", numbers.parameter_bytes);
    json_.number("input_bytes", numbers.input_bytes);
    json_.number("output_bytes", numbers.output_bytes);
    json_.number("flops", numbers.flops);
    json_.number("qps", known_qps(numbers));
    if (report_.time != nullptr) write_part_time(part);
    json_.key("same_shape_as");
    const PartId like = shapes_.like[part];
    like == part ? json_.null() : json_.text(partition_.name(like));
    json_.begin_list("hazards");
    for (const Hazard& hazard : numbers.hazards) json_.text(hazard_text(graph_, hazard));
    json_.end_list();
    json_.end_object();
  }

  // Where the part runs, and the parts whose results it needs.
  void write_target(PartId part) {
    json_.text("target", target_name(partition_.target(part)));
    json_.begin_list("after", Layout::one_line);
    for (const PartId before : dependencies_[part]) json_.text(partition_.name(before));
    json_.end_list();
  }

  std::string_view target_name(TargetId target) const {
    return target == kNone<TargetId> ? "cpu"
                                     : std::string_view(report_.targets[index(target)].name);
  }

  // The targets in the order in which they are asked, and last the CPU.
  void write_targets() {
    if (report_.targets.empty()) return;
    const std::size_t count = preview_.by_device.devices.size();
    json_.begin_list("targets");
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_host = i == report_.targets.size();
      const DeviceNumbersOfSplit& numbers = preview_.by_device.devices[i];
      json_.begin_object();
      json_.text("name", target_name(is_host ? kNone<TargetId> : id_at<TargetId>(i)));
      json_.begin_list("lists", Layout::one_line);
      for (std::size_t list = 0; list < report_.lists.size() && !is_host; ++list) {
        const Target& target = report_.targets[i];
        if (list >= target.first_list && list < target.end_list) json_.number(list);
      }
      json_.end_list();
      json_.number("partitions", numbers.parts);
      json_.number("nodes", numbers.nodes);
      json_.number("flops", numbers.is_work_known() ? std::optional(numbers.flops) : std::nullopt);
      json_.number("parameter_bytes", numbers.parameter_bytes);
      if (!is_host) write_target_settings(report_.targets[i]);
      if (!is_host) write_target_times(i);
      json_.begin_object("bytes_to", Layout::one_line);
      for (std::size_t to = 0; to < count; ++to) {
        const bool is_to_host = to == report_.targets.size();
        json_.text_key(target_name(is_to_host ? kNone<TargetId> : id_at<TargetId>(to)));
        preview_.by_device.are_bytes_known(i, to)
            ? json_.number(preview_.by_device.bytes_between(i, to))
            : json_.null();
      }
      json_.end_object();
      json_.end_object();
    }
    json_.end_list();
  }

  void write_target_settings(const Target& target) {
    json_.number("min_acc_module_size", target.min_acc_size);
    const bool has_most = target.most_kept != SplitOptions::kUnlimited;
    json_.number("keep_acc_subgraphs", has_most ? std::optional(target.most_kept) : std::nullopt);
    json_.number("bandwidth", target.link.bytes_per_second);
  }

  void write_target_times(std::size_t target) {
    const DeviceNumbersOfSplit& numbers = preview_.by_device.devices[target];
    json_.number("qps", numbers.has_unknown_bytes ? std::nullopt : numbers.qps);
    if (report_.time == nullptr) return;
    const DeviceUse& use = *report_.time->use;
    json_.number("peak_bytes",
                 use.is_peak_known[target] ? std::optional(use.peak_bytes[target]) : std::nullopt);
    write_machine(json_, report_.time->basis.machine_with(target));
    const TargetLatency& latency = report_.time->asked().targets[target];
    json_.begin_object("latency", Layout::one_line);
    json_.number("compute_us", latency.compute_us);
    json_.number("link_us", latency.link_us);
    json_.number("launch_us", latency.launch_us);
    json_.end_object();
  }

  // Why each target does not run the nodes that it was asked for.
  void write_target_reasons() {
    if (report_.targets.empty()) return;
    json_.begin_list("target_reasons");
    for (const NodeId node : graph_.nodes()) {
      for (std::size_t i = 0; i < report_.targets.size(); ++i) {
        const TargetId target = id_at<TargetId>(i);
        const Reason& reason = split_.targets[i].reasons[node];
        if (reason.code == ReasonCode::none) continue;
        json_.begin_object(Layout::one_line);
        json_.text("node", graph_.node(node).name);
        json_.text("target", target_name(target));
        json_.text("code", reason_code_name(reason.code));
        json_.text("detail", reason_text(reason_context(report_, target), node, reason));
        json_.end_object();
      }
    }
    json_.end_list();
  }

  void write_part_time(PartId part) {
    const PartLatency& latency = report_.time->asked().parts[part];
    json_.begin_object("latency", Layout::one_line);
    json_.number("compute_us", latency.compute_us);
    json_.number("link_us", latency.link_us);
    json_.number("launch_us", latency.launch_us);
    json_.end_object();
    const ResidencyPlan& plan = report_.time->plan;
    write_value_names(json_, graph_, "keep", plan.keep[part]);
    write_value_names(json_, graph_, "resident", plan.resident[part]);
    write_value_names(json_, graph_, "free", plan.free[part]);
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

  // ---- other fields ----

  void write_link() {
    json_.key("link");
    const std::optional<LinkBound> known = known_bound(preview_);
    if (!known || !report_.targets.empty()) return json_.null();  // each target has a link
    const LinkBound& bound = *known;
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

  void write_time() {
    if (report_.time == nullptr) return;
    write_machine(json_, report_.time->basis.machine);
    write_latency(json_, report_.time->asked());
    write_residency(json_, *report_.time, partition_);
    if (!report_.targets.empty()) write_targets_time(json_, *report_.time, partition_);
    json_.begin_list("costs");
    if (report_.costs != nullptr) {
      for (const ModelCosts& costs : report_.costs->cpu) write_costs(json_, "cpu", costs);
      const auto& targets = report_.targets;
      const std::string first = targets.empty() ? "acc" : targets.front().name;
      for (const ModelCosts& costs : report_.costs->acc) write_costs(json_, first, costs);
      for (std::size_t i = 0; i < report_.costs->later.size(); ++i) {
        for (const ModelCosts& costs : report_.costs->later[i].files) {
          write_costs(json_, targets[i + 1].name, costs);
        }
      }
    }
    json_.end_list();
  }

  void write_cpu_reasons() {
    const ReasonContext context = reason_context(report_);
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
      write_failed(node, reason);
      json_.end_object();
    }
    json_.end_list();
  }

  // The conditions of the rule that the node does not meet.
  void write_failed(NodeId node, const Reason& reason) {
    if (reason.code != ReasonCode::rule_failed || reason.because != kNone<NodeId>) return;
    const Rule& rule = report_.lists[reason.list].allow[reason.rule];
    json_.begin_list("failed");
    for (const FailedPart& part : failed_parts(graph_, node, rule, report_.facts)) {
      json_.begin_object();
      json_.text("condition", part.condition);
      json_.text("subject", part.subject);
      json_.text("expected", part.expected);
      json_.text("actual", part.actual);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_unchecked() {
    json_.begin_list("unchecked");
    for (const UncheckedRule& rule : unchecked_rules(split_.support)) {
      const SupportList& list = report_.lists[rule.list];
      json_.begin_object(Layout::one_line);
      json_.text("file", list.path);
      json_.number("rule", rule.rule);
      json_.flag("is_pattern", rule.is_pattern);
      json_.number("line",
                   rule.is_pattern ? list.patterns[rule.rule].line : list.allow[rule.rule].line);
      json_.text("unchecked", rule.is_pattern ? list.patterns[rule.rule].unchecked
                                              : list.allow[rule.rule].unchecked);
      json_.begin_list("nodes");
      for (const NodeId node : rule.nodes) json_.text(graph_.node(node).name);
      json_.end_list();
      json_.end_object();
    }
    json_.end_list();
  }

  void write_chain() {
    if (report_.chain.empty()) return;
    json_.key("chain");
    json_.document(report_.chain);
  }

  const Report& report_;
  const Graph& graph_;
  const Split& split_;
  const Partition& partition_;
  const Preview& preview_;
  const SameShapes& shapes_;
  PerPartLists<PartId> dependencies_;  // of several targets
  JsonText json_;
};

}  // namespace

std::string report_json(const Report& report) { return ReportWriter(report, {}).write(); }

void report_json(const Report& report, const TakeText& take) { ReportWriter(report, take).write(); }

}  // namespace cleave
