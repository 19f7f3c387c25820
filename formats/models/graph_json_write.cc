// Writes the native format.

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/split.h"
#include "formats/base/json.h"
#include "formats/models/graph_json.h"
#include "formats/onnx/index/index.h"
#include "formats/pt2/pt2.h"

namespace cleave {

// ---- items ----

namespace {

// The offset of the string in the value at the cursor, at any depth; skips the value.
std::optional<std::uint64_t> find_string(JsonCursor& cursor, std::string_view wanted) {
  std::optional<std::uint64_t> place;
  std::vector<JsonType> open;
  do {
    const JsonType type = cursor.type();
    if (type == JsonType::object || type == JsonType::list) {
      open.push_back(type);
      cursor.enter();
    } else if (type == JsonType::string) {
      const JsonString string = cursor.take_string();
      if (!place && unescaped(string) == wanted) place = string.offset;
    } else {
      cursor.skip();
    }
    while (!open.empty()) {
      const bool is_object = open.back() == JsonType::object;
      if (is_object ? cursor.next_key().has_value() : cursor.next_item()) break;
      open.pop_back();
    }
  } while (!open.empty());
  return place;
}

// The offset of the string in the first of the named fields that contains it.
std::optional<std::uint64_t> find_in_fields(std::string_view object,
                                            std::span<const std::string_view> fields,
                                            std::string_view wanted) {
  JsonCursor cursor(object);
  if (cursor.type() == JsonType::string) return find_string(cursor, wanted);
  if (cursor.type() != JsonType::object) return std::nullopt;
  std::optional<std::uint64_t> place;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const bool is_asked = contains(fields, key->text);
    if (is_asked && !place) {
      place = find_string(cursor, wanted);
    } else {
      cursor.skip();
    }
  }
  return place;
}

}  // namespace

std::uint64_t place_in_field(std::string_view text, SourceSpan where, std::string_view field,
                             std::string_view wanted) {
  const std::string_view object = text.substr(where.offset, where.length);
  return where.offset + find_in_fields(object, std::span(&field, 1), wanted).value_or(0);
}

std::uint64_t place_of_fault(std::string_view text, const GraphFault& fault, SourceSpan where) {
  constexpr std::string_view kName[] = {"name"};
  constexpr std::string_view kOutputs[] = {"outputs"};
  constexpr std::string_view kReaders[] = {"inputs", "kwargs", "module_parameters", "alias_of"};
  const std::string_view object = text.substr(where.offset, where.length);
  const auto in = [&](std::span<const std::string_view> fields) {
    return find_in_fields(object, fields, fault.name);
  };
  std::optional<std::uint64_t> place;
  if (fault.kind == GraphFault::Kind::unknown_value) place = in(kReaders);
  if (fault.kind == GraphFault::Kind::duplicate_value) place = in(kOutputs);
  if (!place) place = in(kName);
  return where.offset + place.value_or(0);
}

namespace {

// The declaration of the node's output number `slot`; an empty span when it has none.
SourceSpan span_of_output(std::string_view text, SourceSpan node, std::uint32_t slot) {
  JsonCursor cursor(text.substr(node.offset, node.length));
  SourceSpan found;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    if (unescaped(*key) != "outputs") {
      cursor.skip();
      continue;
    }
    cursor.enter();
    for (std::uint32_t position = 0; cursor.next_item(); ++position) {
      const std::uint64_t begin = cursor.offset();
      cursor.skip();
      if (position != slot) continue;
      found = {node.offset + begin, static_cast<std::uint32_t>(cursor.end_of_last() - begin)};
    }
  }
  return found;
}

// ---- values ----

// The tensor of the parameter in an ONNX file; null when there is none.
const OnnxTensor* tensor_of(const LoadedModel& model, ValueId id) {
  if (model.onnx() == nullptr || index(id) >= model.onnx()->tensor_index.size()) return nullptr;
  const std::uint32_t at = model.onnx()->tensor_index[index(id)];
  if (at == std::numeric_limits<std::uint32_t>::max()) return nullptr;
  return &model.onnx()->graph.initializers[at];
}

void add_data_place(const LoadedModel& model, ValueId id, JsonObjectText& object) {
  const OnnxTensor* const tensor = tensor_of(model, id);
  if (tensor == nullptr || tensor->is_sparse) return;
  if (tensor->is_external) {
    const std::string folder = model.source.folder();
    const std::string location(tensor->location);
    object.add("location", json_string(folder == "." ? location : folder + "/" + location));
    object.add("offset", std::to_string(tensor->offset));
    std::optional<std::uint64_t> bytes = tensor->length;
    if (tensor->length == 0) bytes = tensor_bytes(tensor->dtype, model.graph.shape(id));
    if (bytes) object.add("bytes", std::to_string(*bytes));
  } else if (!tensor->raw.empty()) {
    const auto offset = tensor->raw.data() - model.source.bytes().data();
    object.add("location", json_string(model.source.path()));
    object.add("offset", std::to_string(offset));
    object.add("bytes", std::to_string(tensor->raw.size()));
  }
}

// Buffers of torch.export models; those that are not in a state_dict say so.
void add_buffer_kind(const LoadedModel& model, ValueId id, JsonObjectText& object) {
  const Pt2Model* const pt2 = model.pt2();
  if (pt2 == nullptr) return;
  const std::uint32_t number = pt2->program.values[pt2->value_numbers[id]].input;
  if (number == kNoPt2) return;
  const Pt2Input& input = pt2->program.inputs[number];
  if (input.kind != Pt2InputKind::buffer) return;
  object.add("buffer", "true");
  if (!input.is_persistent) object.add("persistent", "false");
}

// ---- nodes ----

// The operands as references, one for each run that shares a position or keyword.
struct Reference {
  OperandSlot slot;
  std::string text;
};

std::vector<Reference> references_of(const Graph& graph, NodeId id) {
  std::vector<Reference> references;
  const std::span<const Operand> operands = graph.operands(id);
  for (std::size_t i = 0; i < operands.size();) {
    const OperandSlot slot = operands[i].slot;
    if (!slot.is_inside_list()) {
      references.push_back({slot, json_string(graph.value(operands[i].value).name)});
      ++i;
      continue;
    }
    std::vector<std::string> items;
    for (; i < operands.size() && operands[i].slot == slot; ++i) {
      items.push_back(json_string(graph.value(operands[i].value).name));
    }
    references.push_back({slot, "{\"list\": " + json_list(items) + "}"});
  }
  return references;
}

std::string inputs_text(const std::vector<Reference>& references) {
  std::vector<std::string> items;
  for (const Reference& reference : references) {
    if (reference.slot.is_keyword()) continue;
    if (reference.slot.is_positional()) items.resize(reference.slot.position(), "null");
    items.push_back(reference.text);
  }
  return json_list(items);
}

JsonObjectText kwargs_of(const Graph& graph, const std::vector<Reference>& references) {
  JsonObjectText kwargs;
  for (const Reference& reference : references) {
    if (!reference.slot.is_keyword()) continue;
    kwargs.add(graph.text(reference.slot.name()), reference.text);
  }
  return kwargs;
}

// `{"name": "y", "type": "tensor", "dtype": "float32", "shape": [1, "N", null]}`; a parameter also
// has `location`, `offset`, `bytes` if its raw data is in a file.
std::string make_value_json(const LoadedModel& model, ValueId id) {
  const Graph& graph = model.graph;
  const Value& value = graph.value(id);
  JsonObjectText object;
  object.add("name", json_string(value.name));
  object.add("type", json_string(value_type_name(value.type)));
  if (value.dtype != DType::unknown) object.add("dtype", json_string(dtype_name(value.dtype)));
  if (graph.has_rank(id)) object.add("shape", make_shape_json(graph, id));
  if (value.holds_tensor && !value.is_tensor()) object.add("elements", "[{\"type\": \"tensor\"}]");
  if (value.kind == ValueKind::parameter) {
    add_buffer_kind(model, id, object);
    add_data_place(model, id, object);
  }
  return object.text();
}

std::string outputs_text(const LoadedModel& model, NodeId id) {
  std::vector<std::string> items;
  for (const ValueId value : model.graph.outputs(id)) {
    items.resize(model.graph.value(value).slot, "null");
    items.push_back(make_value_json(model, value));
  }
  return json_list(items);
}

std::string names_text(const Graph& graph, std::span<const ValueId> values) {
  std::vector<std::string> names;
  for (const ValueId value : values) names.push_back(json_string(graph.value(value).name));
  return json_list(names);
}

template <class Items, class TextOf>
std::string list_text(const Items& items, const TextOf& text_of) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(text_of(item));
  return json_list(texts);
}

// The text of a single item; "[]" when there is none.
template <class Items, class TextOf>
std::string item_text(const Items& items, const TextOf& text_of) {
  return items.empty() ? json_list({}) : text_of(items.front());
}

std::string attribute_json(const AttributePools& pools, const Attribute& attribute) {
  const auto integer = [](std::int64_t number) { return std::to_string(number); };
  switch (attribute.type) {
    case AttributeType::boolean:
      return pools.integers_of(attribute)[0] != 0 ? "true" : "false";
    case AttributeType::integer:
      return item_text(pools.integers_of(attribute), integer);
    case AttributeType::integers:
      return list_text(pools.integers_of(attribute), integer);
    case AttributeType::real:
      return item_text(pools.reals_of(attribute), json_real);
    case AttributeType::reals:
      return list_text(pools.reals_of(attribute), json_real);
    case AttributeType::string:
      return item_text(pools.strings_of(attribute), json_string);
    case AttributeType::strings:
      return list_text(pools.strings_of(attribute), json_string);
    case AttributeType::opaque:
      break;
  }
  return "null";
}

JsonObjectText attributes_of(const Graph& graph, NodeId id) {
  JsonObjectText attributes;
  for (const Attribute& attribute : graph.attributes(id)) {
    if (attribute.type == AttributeType::opaque) continue;
    attributes.add(graph.text(attribute.name), attribute_json(graph.attribute_pools(), attribute));
  }
  return attributes;
}

JsonObjectText cost_of(const Graph& graph, NodeId id) {
  JsonObjectText cost;
  const MeasuredCost* const measured = graph.measured_cost(id);
  if (measured == nullptr) return cost;
  if (measured->flops >= 0) cost.add("flops", json_real(measured->flops));
  if (measured->time_us >= 0) cost.add("time_us", json_real(measured->time_us));
  if (measured->bytes >= 0) cost.add("bytes", json_real(measured->bytes));
  return cost;
}

std::string_view kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::call_function:
      return "call_function";
    case NodeKind::call_method:
      return "call_method";
    case NodeKind::call_module:
      return "call_module";
    case NodeKind::unspecified:
      break;
  }
  return {};
}

void add_text(JsonObjectText& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object.add(key, json_string(text));
}

void add_object(JsonObjectText& object, std::string_view key, const JsonObjectText& fields) {
  if (!fields.empty()) object.add(key, fields.text());
}

}  // namespace

std::string make_shape_json(const Graph& graph, ValueId id) {
  std::vector<std::string> dims;
  for (const Dim dim : graph.shape(id)) {
    if (dim.is_fixed()) {
      dims.push_back(std::to_string(dim.size()));
    } else {
      dims.push_back(dim.is_symbol() ? json_string(graph.text(dim.name())) : "null");
    }
  }
  return json_list(dims);
}

namespace {

// The node; captures of its bodies follow its other inputs.
std::string make_node_json(const LoadedModel& model, NodeId id) {
  const Graph& graph = model.graph;
  const Node& node = graph.node(id);
  const std::vector<Reference> references = references_of(graph, id);
  JsonObjectText object;
  object.add("name", json_string(node.name));
  object.add("op", json_string(graph.op(id)));
  add_text(object, "domain", graph.domain(id));
  add_text(object, "kind", kind_name(node.kind));
  add_text(object, "target", graph.text(node.target));
  object.add("inputs", inputs_text(references));
  add_object(object, "kwargs", kwargs_of(graph, references));
  if (!graph.module_parameters(id).empty()) {
    object.add("module_parameters", names_text(graph, graph.module_parameters(id)));
  }
  object.add("outputs", outputs_text(model, id));
  add_object(object, "attributes", attributes_of(graph, id));
  add_text(object, "scope", graph.text(node.scope));
  add_object(object, "cost", cost_of(graph, id));
  return object.text();
}

// The parameters of one file, and how they refer to each other as aliases there.
class ParameterNames {
 public:
  ParameterNames(const Graph& graph, std::span<const ValueId> ids) : graph_(graph) {
    for (const ValueId id : ids) {
      names_.insert(graph.value(id).name);
      first_.emplace(index(graph.canonical_parameter(id)), id);
    }
  }

  // The declaration, with an `alias_of` that names a parameter of the file, or without one.
  std::string adapted(std::string_view declaration, ValueId id) const {
    JsonObjectText text;
    JsonCursor cursor(declaration);
    cursor.enter();
    while (const auto key = cursor.next_key()) {
      const std::string field = unescaped(*key);
      if (field == "alias_of") {
        const auto name = name_here(unescaped(cursor.take_string()), id);
        if (name) text.add(field, json_string(*name));
        continue;
      }
      const std::uint64_t begin = cursor.offset();
      cursor.skip();
      text.add(field, json_on_one_line(declaration.substr(begin, cursor.end_of_last() - begin)));
    }
    return text.text();
  }

 private:
  std::optional<std::string> name_here(const std::string& alias_of, ValueId id) const {
    if (names_.contains(alias_of)) return alias_of;
    const ValueId first = first_.at(index(graph_.canonical_parameter(id)));
    if (first == id) return std::nullopt;
    return std::string(graph_.value(first).name);
  }

  const Graph& graph_;
  std::unordered_set<std::string_view> names_;
  std::unordered_map<std::uint32_t, ValueId> first_;  // by canonical parameter
};

// The declaration of a parameter as that of a graph input, without fields that only parameters
// have.
std::string as_input(std::string_view declaration) {
  constexpr std::array<std::string_view, 6> kShared = {"name",  "type",     "dtype",
                                                       "shape", "elements", "py_type"};
  JsonObjectText text;
  JsonCursor cursor(declaration);
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const std::string field = unescaped(*key);
    const std::uint64_t begin = cursor.offset();
    cursor.skip();
    if (!contains(kShared, field)) continue;
    text.add(field, json_on_one_line(declaration.substr(begin, cursor.end_of_last() - begin)));
  }
  return text.text();
}

class GraphJsonItems {
 public:
  explicit GraphJsonItems(const LoadedModel& model) : model_(model), graph_(model.graph) {}

  std::string node(NodeId id) const {
    const std::string_view source = source_of(graph_.node(id).source);
    return source.empty() ? make_node_json(model_, id) : json_on_one_line(source);
  }

  // The declaration of a graph input, a node's output, or a parameter that is passed like an input:
  // for use as an input of a graph or an output of a node.
  std::string value(ValueId id) const {
    const Value& value = graph_.value(id);
    SourceSpan span = graph_.declaration(id);
    if (value.kind == ValueKind::node_output && model_.format() == ModelFormat::graph_json) {
      span = span_of_output(model_.source.bytes(), graph_.node(value.producer).source, value.slot);
    }
    const std::string_view source = source_of(span);
    if (source.empty()) return make_value_json(model_, id);
    return graph_.is_parameter(id) ? as_input(source) : json_on_one_line(source);
  }

  // The declarations of one file's parameters, in the given order. A parameter that is an alias of
  // one outside the list becomes an alias of the first of its other names in the list.
  std::vector<std::string> parameters(std::span<const ValueId> ids) const {
    std::optional<ParameterNames> names;
    std::vector<std::string> texts;
    texts.reserve(ids.size());
    for (const ValueId id : ids) {
      const std::string_view source = source_of(graph_.declaration(id));
      if (source.empty()) {
        texts.push_back(make_value_json(model_, id));
      } else if (source.find("alias_of") == source.npos) {
        texts.push_back(json_on_one_line(source));
      } else {
        if (!names) names.emplace(graph_, ids);
        texts.push_back(names->adapted(source, id));
      }
    }
    return texts;
  }

 private:
  std::string_view source_of(SourceSpan span) const {
    if (model_.format() != ModelFormat::graph_json) return {};
    return model_.source.bytes().substr(span.offset, span.length);
  }

  const LoadedModel& model_;
  const Graph& graph_;
};

constexpr std::string_view kDevice = "device";

// The fields of the object without `device`.
struct OtherFields {
  JsonObjectText text;
  bool had_device = false;
};

OtherFields fields_but_device(std::string_view json) {
  const PaddedJson padded(json);
  JsonCursor cursor(padded.text());
  OtherFields fields;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const std::string name = unescaped(*key);
    const std::uint64_t begin = cursor.offset();
    cursor.skip();
    if (name == kDevice) {
      fields.had_device = true;
    } else {
      fields.text.add(name, json.substr(begin, cursor.end_of_last() - begin));
    }
  }
  return fields;
}

}  // namespace

std::string with_device(std::string node, std::string_view device) {
  if (node.find(kDevice) == node.npos) return node;
  const PaddedJson padded(node);
  JsonCursor cursor(padded.text());
  JsonObjectText made;
  OtherFields attributes;
  bool has_device = false;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const std::string name = unescaped(*key);
    const bool is_object = cursor.type() == JsonType::object;
    const std::uint64_t begin = cursor.offset();
    cursor.skip();
    const std::string_view value =
        std::string_view(node).substr(begin, cursor.end_of_last() - begin);
    if (is_object && name == "attributes") {
      attributes = fields_but_device(value);
      has_device = has_device || attributes.had_device;
    } else if (is_object && name == "kwargs") {
      const OtherFields kwargs = fields_but_device(value);
      has_device = has_device || kwargs.had_device;
      made.add(name, kwargs.text.text());
    } else {
      made.add(name, value);
    }
  }
  if (!has_device) return node;
  attributes.text.add(kDevice, json_string(device));
  made.add("attributes", attributes.text.text());
  return made.text();
}

// ---- writer ----
//
// Writes native graph JSON: one input, parameter or node a line, in the order of the graph's ids.
// Reading a written file and writing it again gives the same bytes.

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
