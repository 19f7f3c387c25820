#include "formats/models/graph_json/made.h"

#include "formats/base/json/pieces.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/pt2/model.h"

#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace cleave {
namespace {

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

// A single item alone, or several as a list.
template <class Items, class TextOf>
std::string items_text(const Items& items, bool is_list, const TextOf& text_of) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(text_of(item));
  return is_list || texts.empty() ? json_list(texts) : texts.front();
}

std::string attribute_text(const AttributePools& pools, const Attribute& attribute) {
  const auto integer = [](std::int64_t number) { return std::to_string(number); };
  switch (attribute.type) {
    case AttributeType::boolean:
      return pools.integers_of(attribute)[0] != 0 ? "true" : "false";
    case AttributeType::integer:
      return items_text(pools.integers_of(attribute), false, integer);
    case AttributeType::integers:
      return items_text(pools.integers_of(attribute), true, integer);
    case AttributeType::real:
      return items_text(pools.reals_of(attribute), false, json_real);
    case AttributeType::reals:
      return items_text(pools.reals_of(attribute), true, json_real);
    case AttributeType::string:
      return items_text(pools.strings_of(attribute), false, json_string);
    case AttributeType::strings:
      return items_text(pools.strings_of(attribute), true, json_string);
    case AttributeType::opaque:
      break;
  }
  return "null";
}

JsonObjectText attributes_of(const Graph& graph, NodeId id) {
  JsonObjectText attributes;
  for (const Attribute& attribute : graph.attributes(id)) {
    if (attribute.type == AttributeType::opaque) continue;
    attributes.add(graph.text(attribute.name), attribute_text(graph.attribute_pools(), attribute));
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

}  // namespace cleave
