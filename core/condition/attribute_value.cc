#include "core/condition/attribute_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/graph/node_lookup.h"
#include "core/graph/op_name.h"

namespace cleave {

// One table gives, by operator and attribute, a constant or the way to compute the value:
//
//   spatial_ones   a 1 for each spatial axis (strides, dilations)
//   spatial_zeros  a 0 for each spatial axis (output_padding)
//   pads           two zeros for each spatial axis, unless `auto_pad` or `output_shape` decides
//   kernel         the spatial dims of the weight, which is input `weight`
//   reversed       the axes of input 0 from the last to the first (perm)
//   every_axis     the axes of input 0, unless an input gives them
//   unit_axes      the axes of size 1, unless an input gives them
//   equal_parts    the dim of the axis divided by the number of outputs; the last part is the rest
//
// Source: the text of ONNX's operator documentation, opsets 1 to 26.

namespace {

enum class Kind : std::uint8_t {
  integer,
  real,
  text,
  spatial_ones,
  spatial_zeros,
  pads,
  kernel,
  reversed,
  every_axis,
  unit_axes,
  equal_parts,
};

struct Row {
  std::string_view op;
  std::string_view attribute;
  Kind kind;
  double number = 0;  // integer, real; kernel: which input is the weight
  std::string_view text = {};
};

constexpr double kEpsilon = 1e-5F;  // ONNX has it as a float

// Sorted by op, then by attribute.
constexpr std::array kRows = {
    Row{"AffineGrid", "align_corners", Kind::integer, 0},
    Row{"ArgMax", "select_last_index", Kind::integer, 0},
    Row{"ArgMin", "select_last_index", Kind::integer, 0},
    Row{"Attention", "is_causal", Kind::integer, 0},
    Row{"Attention", "qk_matmul_output_mode", Kind::integer, 0},
    Row{"Attention", "softcap", Kind::real, 0},
    Row{"AveragePool", "ceil_mode", Kind::integer, 0},
    Row{"AveragePool", "count_include_pad", Kind::integer, 0},
    Row{"AveragePool", "dilations", Kind::spatial_ones},
    Row{"AveragePool", "pads", Kind::pads},
    Row{"AveragePool", "strides", Kind::spatial_ones},
    Row{"BatchNormalization", "training_mode", Kind::integer, 0},
    Row{"Cast", "round_mode", Kind::text, 0, "up"},
    Row{"Cast", "saturate", Kind::integer, 1},
    Row{"CastLike", "round_mode", Kind::text, 0, "up"},
    Row{"CastLike", "saturate", Kind::integer, 1},
    Row{"CausalConvWithState", "activation", Kind::text, 0, "none"},
    Row{"CenterCropPad", "axes", Kind::every_axis},
    Row{"Conv", "dilations", Kind::spatial_ones},
    Row{"Conv", "kernel_shape", Kind::kernel, 1},
    Row{"Conv", "pads", Kind::pads},
    Row{"Conv", "strides", Kind::spatial_ones},
    Row{"ConvInteger", "dilations", Kind::spatial_ones},
    Row{"ConvInteger", "kernel_shape", Kind::kernel, 1},
    Row{"ConvInteger", "pads", Kind::pads},
    Row{"ConvInteger", "strides", Kind::spatial_ones},
    Row{"ConvTranspose", "dilations", Kind::spatial_ones},
    Row{"ConvTranspose", "kernel_shape", Kind::kernel, 1},
    Row{"ConvTranspose", "output_padding", Kind::spatial_zeros},
    Row{"ConvTranspose", "pads", Kind::pads},
    Row{"ConvTranspose", "strides", Kind::spatial_ones},
    Row{"CumProd", "exclusive", Kind::integer, 0},
    Row{"CumProd", "reverse", Kind::integer, 0},
    Row{"DeformConv", "dilations", Kind::spatial_ones},
    Row{"DeformConv", "group", Kind::integer, 1},
    Row{"DeformConv", "kernel_shape", Kind::kernel, 1},
    Row{"DeformConv", "offset_group", Kind::integer, 1},
    Row{"DeformConv", "pads", Kind::pads},
    Row{"DeformConv", "strides", Kind::spatial_ones},
    Row{"DepthToSpace", "mode", Kind::text, 0, "DCR"},
    Row{"DequantizeLinear", "axis", Kind::integer, 1},
    Row{"DequantizeLinear", "block_size", Kind::integer, 0},
    Row{"DequantizeLinear", "output_dtype", Kind::integer, 0},
    Row{"GRU", "layout", Kind::integer, 0},
    Row{"GRU", "linear_before_reset", Kind::integer, 0},
    Row{"GatherND", "batch_dims", Kind::integer, 0},
    Row{"Gelu", "approximate", Kind::text, 0, "none"},
    Row{"GroupNormalization", "epsilon", Kind::real, kEpsilon},
    Row{"GroupNormalization", "stash_type", Kind::integer, 1},
    Row{"ImageDecoder", "pixel_format", Kind::text, 0, "RGB"},
    Row{"LSTM", "layout", Kind::integer, 0},
    Row{"LinearAttention", "chunk_size", Kind::integer, 64},
    Row{"LinearAttention", "scale", Kind::real, 0},
    Row{"LinearAttention", "update_rule", Kind::text, 0, "gated_delta"},
    Row{"LpPool", "ceil_mode", Kind::integer, 0},
    Row{"LpPool", "dilations", Kind::spatial_ones},
    Row{"LpPool", "pads", Kind::pads},
    Row{"LpPool", "strides", Kind::spatial_ones},
    Row{"MaxPool", "ceil_mode", Kind::integer, 0},
    Row{"MaxPool", "dilations", Kind::spatial_ones},
    Row{"MaxPool", "pads", Kind::pads},
    Row{"MaxPool", "storage_order", Kind::integer, 0},
    Row{"MaxPool", "strides", Kind::spatial_ones},
    Row{"MaxUnpool", "pads", Kind::pads},
    Row{"MaxUnpool", "strides", Kind::spatial_ones},
    Row{"QLinearConv", "dilations", Kind::spatial_ones},
    Row{"QLinearConv", "kernel_shape", Kind::kernel, 3},
    Row{"QLinearConv", "pads", Kind::pads},
    Row{"QLinearConv", "strides", Kind::spatial_ones},
    Row{"QuantizeLinear", "axis", Kind::integer, 1},
    Row{"QuantizeLinear", "block_size", Kind::integer, 0},
    Row{"QuantizeLinear", "output_dtype", Kind::integer, 0},
    Row{"QuantizeLinear", "precision", Kind::integer, 0},
    Row{"QuantizeLinear", "saturate", Kind::integer, 1},
    Row{"RMSNormalization", "axis", Kind::integer, -1},
    Row{"RMSNormalization", "epsilon", Kind::real, kEpsilon},
    Row{"RMSNormalization", "stash_type", Kind::integer, 1},
    Row{"RNN", "layout", Kind::integer, 0},
    Row{"Range", "stash_type", Kind::integer, 1},
    Row{"ReduceL1", "axes", Kind::every_axis},
    Row{"ReduceL1", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceL2", "axes", Kind::every_axis},
    Row{"ReduceL2", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceLogSum", "axes", Kind::every_axis},
    Row{"ReduceLogSum", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceLogSumExp", "axes", Kind::every_axis},
    Row{"ReduceLogSumExp", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceMax", "axes", Kind::every_axis},
    Row{"ReduceMax", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceMean", "axes", Kind::every_axis},
    Row{"ReduceMean", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceMin", "axes", Kind::every_axis},
    Row{"ReduceMin", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceProd", "axes", Kind::every_axis},
    Row{"ReduceProd", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceSum", "axes", Kind::every_axis},
    Row{"ReduceSum", "noop_with_empty_axes", Kind::integer, 0},
    Row{"ReduceSumSquare", "axes", Kind::every_axis},
    Row{"ReduceSumSquare", "noop_with_empty_axes", Kind::integer, 0},
    Row{"Reshape", "allowzero", Kind::integer, 0},
    Row{"Resize", "antialias", Kind::integer, 0},
    Row{"Resize", "axes", Kind::every_axis},
    Row{"Resize", "exclude_outside", Kind::integer, 0},
    Row{"Resize", "keep_aspect_ratio_policy", Kind::text, 0, "stretch"},
    Row{"RotaryEmbedding", "interleaved", Kind::integer, 0},
    Row{"RotaryEmbedding", "rotary_embedding_dim", Kind::integer, 0},
    Row{"ScatterElements", "reduction", Kind::text, 0, "none"},
    Row{"ScatterND", "reduction", Kind::text, 0, "none"},
    Row{"Shape", "start", Kind::integer, 0},
    Row{"Split", "split", Kind::equal_parts},
    Row{"Squeeze", "axes", Kind::unit_axes},
    Row{"Swish", "alpha", Kind::real, 1},
    Row{"TensorScatter", "axis", Kind::integer, -2},
    Row{"TensorScatter", "mode", Kind::text, 0, "linear"},
    Row{"TopK", "largest", Kind::integer, 1},
    Row{"TopK", "sorted", Kind::integer, 1},
    Row{"Transpose", "perm", Kind::reversed},
};

const Row* find_row(std::string_view op, std::string_view attribute) {
  const auto key = std::tuple(op, attribute);
  const auto* const row = std::lower_bound(
      kRows.begin(), kRows.end(), key,
      [](const Row& at, const auto& wanted) { return std::tuple(at.op, at.attribute) < wanted; });
  if (row == kRows.end() || std::tuple(row->op, row->attribute) != key) return nullptr;
  return row;
}

std::optional<Shape> input_shape(const Graph& graph, NodeId node, std::uint32_t position) {
  const Operand* const input = find_plain_input(graph, node, position);
  if (input == nullptr || !graph.has_rank(input->value)) return std::nullopt;
  return graph.shape(input->value);
}

// The number of spatial axes: the rank of input 0 minus 2, else the length of kernel_shape.
std::optional<std::size_t> spatial_rank(const Graph& graph, NodeId node) {
  if (const auto shape = input_shape(graph, node, 0); shape && shape->size() >= 2) {
    return shape->size() - 2;
  }
  const Attribute* const kernel = find_attribute(graph, node, "kernel_shape");
  if (kernel == nullptr || kernel->type != AttributeType::integers) return std::nullopt;
  return kernel->count;
}

// Whether an attribute other than `pads` decides the padding.
bool is_padded_otherwise(const Graph& graph, NodeId node) {
  if (find_attribute(graph, node, "output_shape") != nullptr) return true;
  const Attribute* const way = find_attribute(graph, node, "auto_pad");
  if (way == nullptr || way->type != AttributeType::string) return false;
  const std::string_view name = graph.attribute_pools().strings_of(*way).front();
  return name != "NOTSET" && name != "VALID";
}

std::optional<AttributeValue> repeated(std::optional<std::size_t> count, std::int64_t number) {
  if (!count) return std::nullopt;
  return std::vector<Literal>(*count, Literal(number));
}

std::optional<AttributeValue> kernel_of(std::optional<Shape> weight) {
  if (!weight || weight->size() < 2) return std::nullopt;
  std::vector<Literal> dims;
  for (const Dim dim : weight->subspan(2)) {
    if (!dim.is_fixed()) return std::nullopt;
    dims.emplace_back(dim.size());
  }
  return dims;
}

std::optional<AttributeValue> axes_of(std::optional<Shape> shape, Kind kind) {
  if (!shape) return std::nullopt;
  std::vector<Literal> axes;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const Dim dim = (*shape)[i];
    if (kind == Kind::unit_axes && !dim.is_fixed()) return std::nullopt;
    if (kind == Kind::unit_axes && dim.size() != 1) continue;
    axes.emplace_back(static_cast<std::int64_t>(i));
  }
  if (kind == Kind::reversed) std::reverse(axes.begin(), axes.end());
  return axes;
}

// The parts along the attribute `axis`; axis 0 when the node has no such attribute.
std::optional<AttributeValue> equal_parts(const Graph& graph, NodeId node) {
  const auto shape = input_shape(graph, node, 0);
  const auto count = static_cast<std::int64_t>(graph.outputs(node).size());
  if (!shape || count == 0) return std::nullopt;
  std::int64_t axis = 0;
  const Attribute* const stated = find_attribute(graph, node, "axis");
  if (stated != nullptr && stated->type == AttributeType::integer) {
    axis = graph.attribute_pools().integers_of(*stated).front();
  }
  const auto at = axis_of(axis, shape->size());
  if (!at || !(*shape)[*at].is_fixed()) return std::nullopt;
  std::int64_t left = (*shape)[*at].size();
  const std::int64_t part = left / count + (left % count != 0 ? 1 : 0);
  std::vector<Literal> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    parts.emplace_back(std::min(part, left));
    left -= std::min(part, left);
  }
  return parts;
}

std::optional<AttributeValue> value_of_row(const Row& row, const Graph& graph, NodeId node) {
  // From some opset on, input 1 gives the axes and parts.
  const auto is_given = [&] { return find_plain_input(graph, node, 1) != nullptr; };
  switch (row.kind) {
    case Kind::integer:
      return static_cast<std::int64_t>(row.number);
    case Kind::real:
      return row.number;
    case Kind::text:
      return std::string(row.text);
    case Kind::spatial_ones:
      return repeated(spatial_rank(graph, node), 1);
    case Kind::spatial_zeros:
      return repeated(spatial_rank(graph, node), 0);
    case Kind::pads: {
      if (is_padded_otherwise(graph, node)) return std::nullopt;
      const auto rank = spatial_rank(graph, node);
      return repeated(rank ? std::optional(*rank * 2) : std::nullopt, 0);
    }
    case Kind::kernel:
      return kernel_of(input_shape(graph, node, static_cast<std::uint32_t>(row.number)));
    case Kind::equal_parts:
      if (is_given()) return std::nullopt;
      return equal_parts(graph, node);
    case Kind::every_axis:
    case Kind::unit_axes:
      // Input 1 of Resize and of CenterCropPad is not a list of axes.
      if (is_given() && row.op != "Resize" && row.op != "CenterCropPad") return std::nullopt;
      break;
    case Kind::reversed:
      break;
  }
  return axes_of(input_shape(graph, node, 0), row.kind);
}

}  // namespace

std::optional<AttributeValue> implied_attribute(const Graph& graph, NodeId node,
                                                std::string_view name) {
  if (!plain_domain(graph.domain(node)).empty()) return std::nullopt;
  const Row* const row = find_row(graph.op(node), name);
  return row != nullptr ? value_of_row(*row, graph, node) : std::nullopt;
}

namespace {

bool is_list(AttributeType type) {
  return type == AttributeType::integers || type == AttributeType::reals ||
         type == AttributeType::strings;
}

AttributeValue stored_value(Literal literal) {
  return std::visit([](auto& value) -> AttributeValue { return std::move(value); }, literal);
}

AttributeValue stored_value(const AttributePools& pools, const Attribute& attribute) {
  std::vector<Literal> items;
  items.reserve(attribute.count);
  switch (attribute.type) {
    case AttributeType::integer:
    case AttributeType::boolean:
    case AttributeType::integers:
      for (const std::int64_t item : pools.integers_of(attribute)) items.emplace_back(item);
      break;
    case AttributeType::real:
    case AttributeType::reals:
      for (const double item : pools.reals_of(attribute)) items.emplace_back(item);
      break;
    case AttributeType::string:
    case AttributeType::strings:
      for (const std::string_view item : pools.strings_of(attribute)) {
        items.emplace_back(std::string(item));
      }
      break;
    case AttributeType::opaque:
      break;
  }
  if (is_list(attribute.type)) return items;
  return stored_value(std::move(items.front()));
}

bool equal(const Literal& a, const Literal& b) {
  if (a.index() == b.index()) return a == b;
  const auto* integer = std::get_if<std::int64_t>(&a);
  const auto* real = std::get_if<double>(&b);
  if (!integer || !real) {
    integer = std::get_if<std::int64_t>(&b);
    real = std::get_if<double>(&a);
  }
  if (!integer || !real) return false;
  return *real >= -0x1p63 && *real < 0x1p63 && static_cast<std::int64_t>(*real) == *integer &&
         static_cast<double>(static_cast<std::int64_t>(*real)) == *real;
}

std::optional<Literal> literal_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::nullopt;
}

// ---- keys ----

std::string key_of(std::int64_t value) { return "i" + std::to_string(value); }

// Numbers that equal_values() finds equal have one key: the key of 1.0 is that of 1.
std::string key_of(double value) {
  const bool is_whole = value >= -0x1p63 && value < 0x1p63 && std::trunc(value) == value;
  if (is_whole) return key_of(static_cast<std::int64_t>(value));
  return "d" + std::to_string(std::hash<double>()(value));
}

std::string key_of(const std::string& value) { return "s" + value; }

std::string key_of(const std::vector<Literal>& values) {
  std::string key = "[";
  for (const Literal& value : values) {
    key += std::visit([](const auto& item) { return key_of(item); }, value) + '\0';
  }
  return key;
}

}  // namespace

std::optional<AttributeValue> attribute_value(const Graph& graph, NodeId node,
                                              std::string_view name, const OpFacts& facts) {
  if (const Attribute* attribute = find_attribute(graph, node, name)) {
    if (attribute->type == AttributeType::opaque) return std::nullopt;
    return stored_value(graph.attribute_pools(), *attribute);
  }
  if (!facts.default_attribute) return std::nullopt;
  const auto opset = imported_opset(graph, graph.domain(node));  // none in torch's models
  auto value = facts.default_attribute(graph.domain(node), graph.op(node), opset.value_or(0), name);
  return value || !opset ? value : implied_attribute(graph, node, name);
}

bool equal_values(const AttributeValue& a, const AttributeValue& b) {
  const auto* list_a = std::get_if<std::vector<Literal>>(&a);
  const auto* list_b = std::get_if<std::vector<Literal>>(&b);
  if ((list_a == nullptr) != (list_b == nullptr)) return false;
  if (!list_a) return equal(*literal_of(a), *literal_of(b));
  return std::equal(list_a->begin(), list_a->end(), list_b->begin(), list_b->end(),
                    [](const Literal& x, const Literal& y) { return equal(x, y); });
}

std::string value_key(const AttributeValue& value) {
  return std::visit([](const auto& item) { return key_of(item); }, value);
}

}  // namespace cleave
