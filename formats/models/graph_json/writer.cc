// Writes native graph JSON: one input, parameter or node a line, in the order of the graph's ids.
// Reading a written file and writing it again gives the same bytes.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "formats/base/json/pieces.h"
#include "formats/models/graph_json/graph_json.h"
#include "formats/models/graph_json/items.h"

namespace cleave {
namespace {

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
                 std::span<const std::string> more) {
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
    for (const std::string& node : more) file_.add_item(node);
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
                            const Boundaries& boundaries, std::span<const std::string> more) {
  const Graph& graph = model.graph;
  GraphJsonWriter writer(model, graph.name());
  writer.add_inputs(graph.inputs());
  writer.add_outputs(graph.outputs());
  writer.add_output_tree();
  writer.add_parameters(root_parameters(graph, partition, boundaries));
  writer.add_calls(partition, boundaries, more);
  return writer.take();
}

}  // namespace cleave
