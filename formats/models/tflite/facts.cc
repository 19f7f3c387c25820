// What the format knows about operators and tensors, for rules.
#include <algorithm>
#include <map>

#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/reader.h"
#include "formats/models/tflite/tensor_type.h"

namespace cleave {
namespace {

constexpr std::uint64_t kMostElements = 65'536;
using Elements = std::optional<std::vector<Literal>>;

template <class T>
Elements read_elements(std::string_view bytes, std::uint64_t count) {
  if (bytes.size() / sizeof(T) < count) return std::nullopt;
  std::vector<Literal> elements;
  for (std::uint64_t i = 0; i < count; ++i) {
    const T value = load_flat<T>(bytes, i * sizeof(T));
    if constexpr (std::is_floating_point_v<T>) {
      elements.emplace_back(static_cast<double>(value));
    } else {
      elements.emplace_back(static_cast<std::int64_t>(value));
    }
  }
  return elements;
}

Elements elements_of(const TfliteModel& model, const TfliteTensor& tensor) {
  if (!tensor.has_data || tensor.is_variable || tensor.maker != kNoTflite ||
      tensor.table.has(tfl::tensor::sparsity)) {
    return std::nullopt;
  }
  if (tensor.external != 0) return std::nullopt;
  std::uint64_t count = 1;
  for (std::uint32_t i = 0; i < tensor.shape.size(); ++i) {
    count *= static_cast<std::uint64_t>(tensor.shape[i]);
    if (count > kMostElements) return std::nullopt;
  }
  if (count == 0) return std::vector<Literal>{};
  const TfliteBytes& at = model.buffers[tensor.buffer];
  const std::string_view bytes = model.bytes.substr(at.offset, at.size);
  switch (tflite_dtype(tensor.type)) {
    case DType::boolean:
    case DType::uint8:
      return read_elements<std::uint8_t>(bytes, count);
    case DType::int8:
      return read_elements<std::int8_t>(bytes, count);
    case DType::uint16:
      return read_elements<std::uint16_t>(bytes, count);
    case DType::int16:
      return read_elements<std::int16_t>(bytes, count);
    case DType::uint32:
      return read_elements<std::uint32_t>(bytes, count);
    case DType::int32:
      return read_elements<std::int32_t>(bytes, count);
    case DType::int64:
      return read_elements<std::int64_t>(bytes, count);
    case DType::float32:
      return read_elements<float>(bytes, count);
    case DType::float64:
      return read_elements<double>(bytes, count);
    default:
      return std::nullopt;
  }
}

Quantization quantization_of(const TfliteTensor& tensor) {
  Quantization found;
  found.stored = tflite_dtype(tensor.type);
  const FlatTable table = tensor.table.table(tfl::tensor::quantization);
  if (table.is_absent()) return found;
  const auto scales = table.numbers<float>(tfl::quantization::scale);
  const auto zeros = table.numbers<std::int64_t>(tfl::quantization::zero_point);
  if (table.tag(tfl::quantization::details) != 0) {
    found.kind = Quantization::Kind::other;
  } else if (!scales.empty()) {
    found.kind = scales.size() == 1 ? Quantization::Kind::tensor : Quantization::Kind::axis;
  }
  for (std::uint32_t i = 0; i < scales.size(); ++i) {
    found.scales.push_back(static_cast<double>(scales[i]));
    // One zero point may stand for all, and none for 0.
    const std::uint32_t at = zeros.size() == scales.size() ? i : 0;
    found.zero_points.push_back(zeros.empty() ? 0 : zeros[at]);
  }
  found.axis = table.integer(tfl::quantization::dimension);
  return found;
}

// Sets of nodes that share a variable tensor; a set of one needs no tie.
void add_shared_variables(const TfliteModel& model, std::vector<std::vector<NodeId>>& sets,
                          const std::vector<NodeId>& node_of) {
  std::map<std::int32_t, std::vector<NodeId>> readers;
  const TfliteSubgraph& graph = model.subgraph();
  for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
    if (node_of[i] == kNone<NodeId>) continue;
    const FlatInts& inputs = graph.operators[i].inputs;
    for (std::uint32_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] < 0 || !graph.tensors[static_cast<std::uint32_t>(inputs[k])].is_variable)
        continue;
      std::vector<NodeId>& nodes = readers[inputs[k]];
      if (nodes.empty() || nodes.back() != node_of[i]) nodes.push_back(node_of[i]);
    }
  }
  for (auto& [tensor, nodes] : readers) {
    if (nodes.size() > 1) sets.push_back(std::move(nodes));
  }
}

}  // namespace

NodeTies tflite_ties(const TfliteModel& model) {
  NodeTies ties{.order = {}, .whole = {}, .way_out = ""};
  std::vector<NodeId> node_of(model.subgraph().operators.size(), kNone<NodeId>);
  for (std::size_t n = 0; n < model.operators.size(); ++n) {
    if (model.operators[n] != kNoTflite) node_of[model.operators[n]] = id_at<NodeId>(n);
  }
  if (model.state.whole.size() > 1) {
    ties.whole.emplace_back();
    for (const std::uint32_t op : model.state.whole) ties.whole.back().push_back(node_of[op]);
    std::sort(ties.whole.back().begin(), ties.whole.back().end());
  }
  add_shared_variables(model, ties.whole, node_of);
  return ties;
}

OpFacts tflite_op_facts(const TfliteModel& model) {
  OpFacts facts;
  facts.whole = tflite_ties(model).whole;
  facts.elements = [&model](const Graph&, ValueId parameter) -> Elements {
    const std::uint32_t tensor = model.tensors[index(parameter)];
    return tensor == kNoTflite ? std::nullopt
                               : elements_of(model, model.subgraph().tensors[tensor]);
  };
  facts.quantization = [&model](const Graph&, ValueId value) -> std::optional<Quantization> {
    const std::uint32_t tensor = model.tensors[index(value)];
    if (tensor == kNoTflite) return std::nullopt;
    return quantization_of(model.subgraph().tensors[tensor]);
  };
  facts.version = [&model](NodeId node) -> std::optional<std::int64_t> {
    if (index(node) >= model.code_of_node.size()) return std::nullopt;
    return model.codes[model.code_of_node[index(node)]].version;
  };
  facts.is_written = [&model](ValueId parameter) {
    const std::uint32_t tensor = model.tensors[index(parameter)];
    return tensor != kNoTflite && model.subgraph().tensors[tensor].is_variable;
  };
  return facts;
}

}  // namespace cleave
