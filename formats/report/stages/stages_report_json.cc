// cleave.stages, field by field in the order of the format's description.
#include <algorithm>
#include <optional>
#include <span>

#include "core/cost/cost.h"
#include "core/stages/stage_boundary.h"
#include "formats/base/json/text.h"
#include "formats/models/model_file.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

class StagesWriter {
 public:
  explicit StagesWriter(const StagesReport& report)
      : report_(report),
        graph_(report.graph),
        partition_(report.partition),
        boundaries_(report.boundaries),
        numbers_(report.numbers),
        depends_on_(report.depends_on) {}

  std::string write() {
    json_.begin_object();
    json_.text("format", "cleave.stages");
    json_.number("version", 1);
    write_model(json_, report_.model, graph_, numbers_.coverage.model_parameter_bytes);
    write_stages();
    json_.begin_list("call_order");
    for (const PartId part : partition_.parts()) json_.text(partition_.name(part));
    json_.end_list();
    write_node_map();
    write_replicated();
    write_qualname_map();
    write_skips();
    write_balance(json_, report_.balance);
    if (report_.schedule) write_schedule(json_, *report_.schedule);
    json_.flag("has_loss_and_backward", report_.backward != nullptr);
    write_root();
    if (!report_.chain.empty()) {
      json_.key("chain");
      json_.document(report_.chain);
    }
    write_notes(json_, report_.notes,
                report_.balance ? std::span<const std::string>(report_.balance->caveats)
                                : std::span<const std::string>());
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  // Markers are in no stage.
  void write_node_map() {
    json_.begin_object("node_map");
    for (const NodeId node : graph_.nodes()) {
      if (partition_.part_of[node] == kNone<PartId>) continue;
      json_.text_key(graph_.node(node).name);
      json_.text(partition_.name(partition_.part_of[node]));
    }
    json_.end_object();
  }

  // ---- stages ----

  void write_stages() {
    json_.begin_list("stages");
    for (const PartId part : partition_.parts()) write_stage(part);
    json_.end_list();
  }

  void write_stage(PartId part) {
    json_.begin_object();
    json_.text("name", partition_.name(part));
    write_file(json_, report_.part_files, part);
    json_.begin_list("nodes");
    for (const NodeId node : partition_.nodes(part)) json_.text(graph_.node(node).name);
    json_.end_list();
    write_values(json_, "inputs", graph_, boundaries_.inputs[part]);
    write_values(json_, "outputs", graph_, boundaries_.outputs[part]);
    json_.begin_list("parameters");
    for (const ValueId value : boundaries_.parameters[part]) json_.text(graph_.value(value).name);
    json_.end_list();
    json_.number("parameter_bytes", numbers_.parts[part].parameter_bytes);
    json_.begin_list("depends_on", Layout::one_line);
    for (const PartId other : depends_on_[part]) json_.text(partition_.name(other));
    json_.end_list();
    json_.key("device");
    const std::vector<std::string>& devices = report_.devices;
    devices.empty() || devices[index(part)].empty() ? json_.null()
                                                    : json_.text(devices[index(part)]);
    write_cost(part);
    json_.end_object();
  }

  // nullopt if the size of a tensor is not known.
  std::optional<std::uint64_t> known_bytes(std::uint64_t sum,
                                           std::span<const ValueId> values) const {
    const bool is_known = std::all_of(values.begin(), values.end(), [&](ValueId value) {
      return !graph_.value(value).is_tensor() || value_bytes(graph_, value);
    });
    return is_known ? std::optional(sum) : std::nullopt;
  }

  void write_cost(PartId part) {
    const PartNumbers& numbers = numbers_.parts[part];
    json_.begin_object("cost");
    json_.number("flops", numbers.flops);
    json_.number("unknown_flops", numbers.unknown_flops);
    json_.number("input_bytes", known_bytes(numbers.input_bytes, boundaries_.inputs[part]));
    json_.number("output_bytes", known_bytes(numbers.output_bytes, boundaries_.outputs[part]));
    if (report_.balance) write_load(json_, report_.balance->loads[index(part)]);
    json_.end_object();
  }

  // ---- names ----

  void write_replicated() {
    json_.begin_list("replicated_parameters");
    for (const SharedParameter& shared : find_shared_parameters(graph_, boundaries_)) {
      json_.begin_object(Layout::one_line);
      json_.text("fqn", parameter_path(report_.model, shared.parameter));
      json_.begin_object("stages");
      for (const auto& [part, name] : shared.copies) {
        json_.text_key(partition_.name(part));
        json_.text(name_in_part(name));
      }
      json_.end_object();
      json_.end_object();
    }
    json_.end_list();
  }

  // `submod_1.sub_lin` -> `sub.lin` for each module of a part, each once; then the parameters that
  // its nodes read directly, under their own names.
  void write_qualname_map() {
    json_.begin_object("qualname_map");
    for (const PartId part : partition_.parts()) {
      std::vector<NameId> targets;
      for (const NodeId node : partition_.nodes(part)) {
        const Node& record = graph_.node(node);
        if (record.kind == NodeKind::call_module && !graph_.text(record.target).empty()) {
          targets.push_back(record.target);
        }
      }
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      for (const NameId target : targets) {
        std::string flat(graph_.text(target));
        std::replace(flat.begin(), flat.end(), '.', '_');
        write_qualname(part, flat, graph_.text(target));
      }
      write_parameter_qualnames(part);
    }
    json_.end_object();
  }

  void write_parameter_qualnames(PartId part) {
    std::vector<ValueId> owned;
    for (const NodeId node : partition_.nodes(part)) {
      const auto own = graph_.module_parameters(node);
      owned.insert(owned.end(), own.begin(), own.end());
    }
    std::sort(owned.begin(), owned.end());
    for (const ValueId parameter : boundaries_.parameters[part]) {
      if (std::binary_search(owned.begin(), owned.end(), parameter)) continue;
      write_qualname(part, name_in_part(parameter), parameter_path(report_.model, parameter));
    }
  }

  // What a stage's module calls a parameter: archives of torch.export keep its path.
  std::string name_in_part(ValueId parameter) const {
    if (report_.model.format() == ModelFormat::pt2) return parameter_path(report_.model, parameter);
    return std::string(graph_.value(parameter).name);
  }

  void write_qualname(PartId part, std::string_view name, std::string_view old) {
    json_.text_key(partition_.name(part) + '.' + std::string(name));
    json_.text(old);
  }

  void write_skips() {
    json_.key("skip_connections");
    if (!report_.skips) return json_.null();
    const SkipCosts& costs = report_.skips->costs;
    json_.begin_object();
    json_.text("way", report_.skips->relayed ? "relay" : "direct");
    json_.number("values", costs.values);
    json_.number("direct_transfers", costs.direct_transfers);
    json_.number("direct_bytes", costs.direct_bytes);
    json_.number("relay_transfers", costs.relay_transfers);
    json_.number("relay_bytes", costs.relay_bytes);
    json_.end_object();
  }

  // ---- root ----

  void write_root() {
    json_.begin_object("root");
    const IdRange<ValueId> inputs = graph_.inputs();
    write_value_names(json_, graph_, "inputs", std::vector<ValueId>(inputs.begin(), inputs.end()));
    json_.begin_list("calls");
    for (const PartId part : partition_.parts()) {
      json_.begin_object(Layout::one_line);
      json_.text("call", partition_.name(part));
      write_value_names(json_, graph_, "inputs", report_.root.inputs[part]);
      write_value_names(json_, graph_, "outputs", report_.root.outputs[part]);
      json_.end_object();
    }
    json_.end_list();
    write_backward();
    write_value_names(json_, graph_, "outputs", graph_.outputs());
    json_.end_object();
  }

  void write_backward() {
    if (report_.backward == nullptr) return;
    json_.text("loss", graph_.value(report_.backward->loss).name);
    json_.begin_list("backward");
    for (const auto& step : report_.backward->steps) {
      json_.begin_object(Layout::one_line);
      if (const auto* const call = std::get_if<StageBackward>(&step)) {
        json_.text("stage_backward", partition_.name(call->stage));
        json_.begin_list("outputs_with_grads_idxs");
        for (const std::uint32_t position : call->outputs_with_gradients) json_.number(position);
        json_.end_list();
      } else {
        const auto& sum = std::get<AccumulateGradient>(step);
        json_.text("null_coalesce_accumulate", graph_.value(sum.value).name);
      }
      json_.end_object();
    }
    json_.end_list();
  }

  const StagesReport& report_;
  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const Preview& numbers_;
  const PerPartLists<PartId>& depends_on_;
  JsonText json_;
};

}  // namespace

std::string stages_json(const StagesReport& report) { return StagesWriter(report).write(); }

}  // namespace cleave
