// Writes native graph JSON: one input, parameter or node a line, in the order of the graph's ids.
// Reading a written file and writing it again gives the same bytes.
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/stages/training.h"
#include "formats/base/json/pieces.h"
#include "formats/models/graph_json/graph_json.h"
#include "formats/models/graph_json/items.h"

namespace cleave {
namespace {

// The backward pass of a pipeline as nodes of its root in native JSON:
//
//   stage_backward             kwargs stage_output, output_grads, input_values: lists, null where
//                              there is no gradient; attribute outputs_with_grads_idxs; outputs the
//                              gradients of the stage's inputs
//   null_coalesce_accumulate   the sum of two gradients of a value; if one is null, the other

class BackwardWriter {
 public:
  BackwardWriter(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                 const BackwardPlan& plan)
      : graph_(graph), partition_(partition), boundaries_(boundaries), plan_(plan) {
    for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) {
      taken_.insert(std::string(graph.value(value).name));
    }
    for (const std::string& name : partition.names) taken_.insert(name);
    for (const ValueId value : plan.value_of) {
      gradients_.push_back(fresh("grad_" + std::string(graph.value(value).name)));
    }
  }

  std::string node(const StageBackward& step) {
    const auto outputs = boundaries_.outputs[step.stage];
    const auto inputs = boundaries_.inputs[step.stage];
    std::vector<std::string> gradients, positions;
    for (const GradientId id : step.output_gradients) gradients.push_back(reference(id));
    for (const std::uint32_t i : step.outputs_with_gradients)
      positions.push_back(std::to_string(i));
    JsonObjectText kwargs;
    kwargs.add("stage_output", "{\"list\": " + names_of(outputs) + "}");
    kwargs.add("output_grads", "{\"list\": " + json_list(gradients) + "}");
    kwargs.add("input_values", "{\"list\": " + names_of(inputs) + "}");
    JsonObjectText attributes;
    attributes.add("outputs_with_grads_idxs", json_list(positions));
    std::vector<std::string> made;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      made.push_back(gradient(id_at<GradientId>(index(step.first) + i)));
    }
    JsonObjectText node;
    node.add("name", json_string(fresh(partition_.name(step.stage) + "_backward")));
    node.add("op", "\"stage_backward\"");
    node.add("kind", "\"call_function\"");
    node.add("target", json_string(partition_.name(step.stage)));
    node.add("inputs", "[]");
    node.add("kwargs", kwargs.text());
    node.add("outputs", json_list(made));
    node.add("attributes", attributes.text());
    return node.text();
  }

  std::string node(const AccumulateGradient& step) {
    const std::string name = "accumulate_" + std::string(graph_.value(step.value).name);
    JsonObjectText node;
    node.add("name", json_string(fresh(name)));
    node.add("op", "\"null_coalesce_accumulate\"");
    node.add("kind", "\"call_function\"");
    node.add("inputs", json_list({reference(step.before), reference(step.more)}));
    node.add("outputs", json_list({gradient(step.sum)}));
    return node.text();
  }

 private:
  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }

  std::string names_of(std::span<const ValueId> values) const {
    std::vector<std::string> names;
    for (const ValueId value : values) names.push_back(json_string(graph_.value(value).name));
    return json_list(names);
  }

  std::string reference(GradientId id) const {
    return id == kNone<GradientId> ? "null" : json_string(gradients_[index(id)]);
  }

  // The declaration of a gradient: a tensor with the value's dtype and shape, or none if the value
  // is not a tensor.
  std::string gradient(GradientId id) const {
    const ValueId value = plan_.value_of[index(id)];
    const Value& record = graph_.value(value);
    JsonObjectText text;
    text.add("name", json_string(gradients_[index(id)]));
    text.add("type", record.is_tensor() ? "\"tensor\"" : "\"none\"");
    if (record.is_tensor() && record.dtype != DType::unknown) {
      text.add("dtype", json_string(dtype_name(record.dtype)));
    }
    if (record.is_tensor() && graph_.has_rank(value)) {
      text.add("shape", make_shape_json(graph_, value));
    }
    return text.text();
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const BackwardPlan& plan_;
  std::unordered_set<std::string> taken_;  // names in the root
  std::vector<std::string> gradients_;     // names
};

// The nodes in order, each on one line. Their names, and the names of gradients (`grad_<value>`),
// do not occur in the graph.
std::vector<std::string> backward_nodes(const Graph& graph, const Partition& partition,
                                        const Boundaries& boundaries, const BackwardPlan& plan) {
  BackwardWriter writer(graph, partition, boundaries, plan);
  std::vector<std::string> nodes;
  for (const auto& step : plan.steps) {
    nodes.push_back(std::visit([&](const auto& any) { return writer.node(any); }, step));
  }
  return nodes;
}

// Writes the fields of a file one after another.
class GraphFile {
 public:
  explicit GraphFile(std::string_view name) {
    add("format", "\"cleave.graph\"");
    add("version", "1");
    add("name", json_string(name));
  }

  void reserve(std::size_t bytes) { text_.reserve(bytes); }

  void add(std::string_view key, std::string_view json) {
    begin_field(key);
    text_ += json;
  }

  void begin_list(std::string_view key) {
    begin_field(key);
    text_ += '[';
    is_first_ = true;
  }
  void add_item(std::string_view json) {
    text_ += std::exchange(is_first_, false) ? "\n    " : ",\n    ";
    text_ += json;
  }
  void end_list() { text_ += is_first_ ? "]" : "\n  ]"; }

  std::string take() { return std::move(text_) + "\n}\n"; }

 private:
  void begin_field(std::string_view key) {
    text_ += text_.empty() ? "{\n  " : ",\n  ";
    text_ += json_string(key);
    text_ += ": ";
  }

  std::string text_;
  bool is_first_ = true;  // of the list's items
};

class GraphJsonWriter {
 public:
  GraphJsonWriter(const LoadedModel& model, std::string_view name)
      : model_(model), graph_(model.graph), items_(model), file_(name) {}

  template <class Values>
  void add_inputs(const Values& values) {
    file_.begin_list("inputs");
    for (const ValueId value : values) file_.add_item(items_.value(value));
    file_.end_list();
  }

  template <class Values>
  void add_outputs(const Values& values) {
    file_.add("outputs", names_of(values));
  }

  void add_output_tree() {
    const SourceSpan span = model_.output_tree();
    if (span.length == 0) return;
    const std::string_view tree = model_.source.bytes().substr(span.offset, span.length);
    file_.add("output_tree", json_on_one_line(tree));
  }

  void add_parameters(const std::vector<ValueId>& values) {
    file_.begin_list("parameters");
    for (const std::string& parameter : items_.parameters(values)) file_.add_item(parameter);
    file_.end_list();
  }

  template <class Nodes>
  void add_nodes(const Nodes& nodes, std::string_view device = {}) {
    file_.begin_list("nodes");
    for (const NodeId node : nodes) {
      const std::string item = items_.node(node);
      file_.add_item(device.empty() ? item : with_device(item, device));
    }
    file_.end_list();
  }

  void add_calls(const Partition& partition, const Boundaries& boundaries,
                 const BackwardPlan* backward) {
    file_.begin_list("nodes");
    for (const PartId part : partition.parts()) {
      const std::string name = json_string(partition.name(part));
      std::vector<std::string> outputs;
      for (const ValueId value : boundaries.outputs[part]) outputs.push_back(items_.value(value));
      JsonObjectText call;
      call.add("name", name);
      call.add("op", "\"cleave.call\"");
      call.add("target", name);
      call.add("inputs", names_of(boundaries.inputs[part]));
      call.add("outputs", json_list(outputs));
      file_.add_item(call.text());
    }
    if (backward != nullptr) {
      for (const std::string& node : backward_nodes(graph_, partition, boundaries, *backward)) {
        file_.add_item(node);
      }
    }
    file_.end_list();
  }

  void reserve(std::size_t bytes) { file_.reserve(bytes); }
  std::string take() { return file_.take(); }

 private:
  template <class Values>
  std::string names_of(const Values& values) const {
    std::vector<std::string> names;
    for (const ValueId value : values) names.push_back(json_string(graph_.value(value).name));
    return json_list(names);
  }

  const LoadedModel& model_;
  const Graph& graph_;
  GraphJsonItems items_;
  GraphFile file_;
};

// The parameters of a part: those of the file, and outputs of the constants that it needs, which
// native JSON also writes as parameters.
std::vector<ValueId> parameters_of(const Graph& graph, const Boundaries& boundaries, PartId part) {
  const auto listed = boundaries.parameters[part];
  std::vector<ValueId> parameters(listed.begin(), listed.end());
  for (const NodeId constant : needed_constants(graph, boundaries, part)) {
    for (const ValueId value : graph.outputs(constant)) parameters.push_back(value);
  }
  return parameters;
}

// The parameters of the root: those that the model returns directly, and those that are passed to
// parts like inputs and that no part outputs.
std::vector<ValueId> root_parameters(const Graph& graph, const Partition& partition,
                                     const Boundaries& boundaries) {
  ValueSet needed(graph.value_count());
  for (const ValueId value : graph.outputs()) needed.insert(value);
  for (const PartId part : partition.parts()) {
    for (const ValueId value : boundaries.inputs[part]) needed.insert(value);
  }
  for (const PartId part : partition.parts()) {
    for (const ValueId value : boundaries.outputs[part]) needed.erase(value);
  }
  std::vector<ValueId> parameters;
  for (const ValueId value : graph.parameters()) {
    if (needed.contains(value)) parameters.push_back(value);
  }
  return parameters;
}

}  // namespace

std::string write_graph_json(const LoadedModel& model) {
  const Graph& graph = model.graph;
  GraphJsonWriter writer(model, graph.name());
  if (model.format() == ModelFormat::graph_json) writer.reserve(model.source.size() + 4096);
  writer.add_inputs(graph.inputs());
  writer.add_outputs(graph.outputs());
  writer.add_output_tree();
  const IdRange<ValueId> parameters = graph.parameters();
  writer.add_parameters({parameters.begin(), parameters.end()});
  writer.add_nodes(graph.nodes());
  return writer.take();
}

std::string write_part_json(const LoadedModel& model, const Partition& partition,
                            const Boundaries& boundaries, PartId part, std::string_view device) {
  GraphJsonWriter writer(model, partition.name(part));
  writer.add_inputs(boundaries.inputs[part]);
  writer.add_outputs(boundaries.outputs[part]);
  writer.add_parameters(parameters_of(model.graph, boundaries, part));
  writer.add_nodes(partition.nodes(part), device);
  return writer.take();
}

std::string write_root_json(const LoadedModel& model, const Partition& partition,
                            const Boundaries& boundaries, const BackwardPlan* backward) {
  const Graph& graph = model.graph;
  GraphJsonWriter writer(model, graph.name());
  writer.add_inputs(graph.inputs());
  writer.add_outputs(graph.outputs());
  writer.add_output_tree();
  writer.add_parameters(root_parameters(graph, partition, boundaries));
  writer.add_calls(partition, boundaries, backward);
  return writer.take();
}

}  // namespace cleave
