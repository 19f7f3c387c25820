// Conditions of rules, judged on a node.
#include "core/lists/condition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// ---- attribute value ----

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

// ---- tensor layout ----
//
// Each dense layout is an order of the dims, innermost first, in which each stride is the product
// of the sizes before it.

namespace {

using Numbers = std::span<const std::int64_t>;

// Whether the strides are those of a dense tensor whose dims are in this order, innermost first.
bool is_dense_in(Numbers sizes, Numbers strides, const std::vector<std::size_t>& order) {
  std::int64_t stride = 1;
  for (const std::size_t dim : order) {
    if (sizes[dim] != 1 && strides[dim] != stride) return false;
    if (__builtin_mul_overflow(stride, sizes[dim], &stride)) return false;
  }
  return true;
}

std::vector<std::size_t> row_major(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

// Dim 1 is innermost, the others stay in row-major order.
std::vector<std::size_t> channels_innermost(std::size_t rank) {
  std::vector<std::size_t> order = row_major(rank);
  std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  return order;
}

}  // namespace

LayoutSet strided_layouts(Numbers sizes, Numbers strides) {
  const std::size_t rank = sizes.size();
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  LayoutSet layouts;
  layouts.add(LayoutName::strided);
  if (is_empty || is_dense_in(sizes, strides, row_major(rank))) {
    layouts.add(LayoutName::contiguous);
  }
  const bool has_channels = rank == 4 || rank == 5;
  if (has_channels && is_dense_in(sizes, strides, channels_innermost(rank))) {
    layouts.add(rank == 4 ? LayoutName::channels_last : LayoutName::channels_last_3d);
  }
  return layouts;
}

// ---- condition ----

bool TypeSet::accepts(const Value& value) const {
  if (value.is_tensor()) return (dtypes >> static_cast<unsigned>(value.dtype) & 1U) != 0;
  return (unsigned{value_types} >> static_cast<unsigned>(value.type) & 1U) != 0;
}

// ---- condition check ----

namespace {

using Instead = std::optional<FoundInstead>;

bool equal_literals(const Literal& a, const Literal& b) {
  const auto as_value = [](const Literal& literal) {
    return std::visit([](const auto& held) { return AttributeValue(held); }, literal);
  };
  return equal_values(as_value(a), as_value(b));
}

// ---- elements of constants ----

std::optional<double> number_of(const Literal& literal) {
  if (const auto* const integer = std::get_if<std::int64_t>(&literal)) {
    return static_cast<double>(*integer);
  }
  if (const auto* const real = std::get_if<double>(&literal)) return *real;
  return std::nullopt;
}

bool is_power_of_two(double number) {
  int exponent = 0;
  return number > 0 && std::isfinite(number) && std::frexp(number, &exponent) == 0.5;
}

bool accepts_element(const ValuesCondition& wanted, const Literal& element) {
  const auto equals = [&](const Literal& other) { return equal_literals(element, other); };
  if (!wanted.one_of.empty() && std::none_of(wanted.one_of.begin(), wanted.one_of.end(), equals)) {
    return false;
  }
  const bool has_bounds = wanted.min || wanted.max || wanted.power_of_two || wanted.finite;
  if (!has_bounds) return true;
  const auto number = number_of(element);
  if (!number) return false;
  if (wanted.min && !(*number >= *wanted.min)) return false;
  if (wanted.max && !(*number <= *wanted.max)) return false;
  if (wanted.power_of_two && !is_power_of_two(*number)) return false;
  return !wanted.finite || std::isfinite(*number);
}

Instead check_elements(const ValuesCondition& wanted, const std::vector<Literal>& elements) {
  if (wanted.list && wanted.list->size() != elements.size()) return FoundCount{elements.size()};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool in_list = !wanted.list || equal_literals((*wanted.list)[i], elements[i]);
    if (!in_list || !accepts_element(wanted, elements[i])) return FoundElement{i, elements[i]};
  }
  return std::nullopt;
}

// ---- shapes ----

FoundDim found_dim(const Graph& graph, Dim dim, std::int64_t axis) {
  FoundDim found{axis, std::nullopt, {}};
  if (dim.is_fixed()) found.size = dim.size();
  if (dim.is_symbol()) found.symbol = graph.text(dim.name());
  return found;
}

// ---- quantisation ----

bool accepts_way(const QuantizationSet& wanted, const Quantization& found) {
  using Way = QuantizationSet::Way;
  const bool is_quantized = found.kind != Quantization::Kind::none;
  if (wanted.ways == 0) return is_quantized;
  return wanted.has(static_cast<Way>(found.kind)) ||
         (wanted.has(Way::symmetric) && found.is_symmetric());
}

// A tensor that is not quantised has no numbers whose type is asked for.
bool accepts_quantization(const QuantizationSet& wanted, const Quantization& found) {
  if (!accepts_way(wanted, found)) return false;
  if (wanted.types == TypeSet{} || found.kind == Quantization::Kind::none) return true;
  return (wanted.types.dtypes >> static_cast<unsigned>(found.stored) & 1U) != 0;
}

// ---- the check ----

class Checker {
 public:
  Checker(const Graph& graph, NodeId node, const OpFacts& facts)
      : graph_(graph), node_(node), facts_(facts) {}

  Instead operator()(const ConstantCondition& wanted) const {
    return of_input(wanted.input, [&](ValueId value) -> Instead {
      if (is_constant(graph_, value, facts_) == wanted.wanted) return std::nullopt;
      if (graph_.is_parameter(value) && wanted.wanted) return FoundWritten{};
      return FoundOpposite{};
    });
  }

  Instead operator()(const GivenCondition& wanted) const {
    const auto operands = graph_.operands(node_);
    const bool is_given =
        std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
          return operand.slot.is_positional() && operand.slot.position() == wanted.input;
        });
    if (is_given == wanted.wanted) return std::nullopt;
    return FoundOpposite{};
  }

  Instead operator()(const OutputsUsedCondition& wanted) const {
    for (const ValueId output : graph_.outputs(node_)) {
      const std::uint32_t slot = graph_.value(output).slot;
      const bool is_used = !graph_.users(output).empty() || graph_.is_graph_output(output);
      const auto& allowed = wanted.outputs;
      if (is_used && !std::binary_search(allowed.begin(), allowed.end(), slot)) {
        return FoundReaders{slot};
      }
    }
    return std::nullopt;
  }

  Instead operator()(const RankCondition& wanted) const {
    return of_tensor(wanted.input, [&](Shape shape) -> Instead {
      if (wanted.rank.accepts(static_cast<std::int64_t>(shape.size()))) return std::nullopt;
      return FoundRank{shape.size()};
    });
  }

  Instead operator()(const MaxRankCondition& wanted) const {
    return of_each_tensor([&](std::uint32_t position, ValueId value) -> Instead {
      if (!graph_.has_rank(value)) return FoundShapeOf{position, FoundNoRank{}};
      const std::size_t rank = graph_.shape(value).size();
      if (static_cast<std::int64_t>(rank) <= wanted.most) return std::nullopt;
      return FoundShapeOf{position, FoundRank{rank}};
    });
  }

  Instead operator()(const DimCondition& wanted) const {
    return of_tensor(wanted.input, [&](Shape shape) -> Instead {
      const auto place = axis_of(wanted.axis, shape.size());
      if (!place) return FoundRank{shape.size()};
      const Dim dim = shape[*place];
      if (dim.is_fixed() && wanted.size.accepts(dim.size())) return std::nullopt;
      return found_dim(graph_, dim, wanted.axis);
    });
  }

  Instead operator()(const EveryInputCondition& wanted) const {
    return of_each_input([&](std::uint32_t position, ValueId id) -> Instead {
      const Value& value = graph_.value(id);
      if (wanted.types.accepts(value)) return std::nullopt;
      return FoundType{position, value.type, value.dtype};
    });
  }

  Instead operator()(const SameInputsCondition&) const {
    std::optional<FoundType> first;
    return of_each_input([&](std::uint32_t position, ValueId id) -> Instead {
      const Value& value = graph_.value(id);
      const FoundType found{position, value.type, value.dtype};
      if (!first) first = found;
      const bool is_known = !value.is_tensor() || value.dtype != DType::unknown;
      if (is_known && found.type == first->type && found.dtype == first->dtype) {
        return std::nullopt;
      }
      return FoundTypes{*first, found};
    });
  }

  Instead operator()(const InputShapeCondition& wanted) const {
    using Wanted = InputShapeCondition::Shape;
    const std::size_t first = wanted.shape == Wanted::batched ? 1 : 0;
    const Instead open = of_each_tensor([&](std::uint32_t position, ValueId value) -> Instead {
      if (!graph_.has_rank(value)) return FoundShapeOf{position, FoundNoRank{}};
      const Shape shape = graph_.shape(value);
      for (std::size_t axis = first; axis < shape.size(); ++axis) {
        if (shape[axis].is_fixed()) continue;
        return FoundShapeOf{position,
                            found_dim(graph_, shape[axis], static_cast<std::int64_t>(axis))};
      }
      return std::nullopt;
    });
    if (wanted.shape != Wanted::open) return open;
    if (open) return std::nullopt;
    return FoundAllKnown{};
  }

  Instead operator()(const ValuesCondition& wanted) const {
    return of_input(wanted.input, [&](ValueId value) -> Instead {
      if (!graph_.is_parameter(value)) return FoundVariable{};
      if (!is_constant(graph_, value, facts_)) return FoundWritten{};
      if (!facts_.elements) return FoundNoElements{};
      const auto elements = facts_.elements(graph_, value);
      if (!elements) return FoundNoElements{};
      return check_elements(wanted, *elements);
    });
  }

  Instead operator()(const LayoutCondition& wanted) const {
    return of_input(wanted.input, [&](ValueId value) -> Instead {
      if (!graph_.value(value).is_tensor()) return FoundNoTensor{graph_.value(value).type};
      auto layout = facts_.layout ? facts_.layout(value) : std::nullopt;
      if (!layout) return FoundNoLayout{};
      if (layout->layouts.meets(wanted.one_of)) return std::nullopt;
      return FoundLayout{*std::move(layout)};
    });
  }

  Instead operator()(const AbsentAttributeCondition& wanted) const {
    const bool is_absent = find_attribute(graph_, node_, wanted.name) == nullptr;
    if (is_absent == wanted.wanted) return std::nullopt;
    return FoundOpposite{};
  }

  Instead operator()(const QuantizedCondition& wanted) const {
    using Of = QuantizedCondition::Of;
    if (wanted.of == Of::input) {
      return of_input(wanted.place, [&](ValueId value) {
        return check_quantization(wanted.wanted, value, wanted.place.position, false);
      });
    }
    if (wanted.of != Of::output) {
      const Instead found = of_each_tensor([&](std::uint32_t position, ValueId value) -> Instead {
        if (wanted.of == Of::activations && is_constant(graph_, value, facts_)) return {};
        return check_quantization(wanted.wanted, value, position, false);
      });
      if (found) return found;
    }
    for (const ValueId output : graph_.outputs(node_)) {
      const std::uint32_t slot = graph_.value(output).slot;
      if (wanted.of == Of::output && slot != wanted.place.position) continue;
      if (Instead found = check_quantization(wanted.wanted, output, slot, true)) return found;
    }
    return std::nullopt;
  }

  Instead operator()(const RelationCondition& wanted) const {
    if (relation_holds(wanted.relation, graph_, node_, facts_)) return std::nullopt;
    return relation_failure(wanted.relation, graph_, node_, facts_);
  }

 private:
  Instead check_quantization(const QuantizationSet& wanted, ValueId value, std::uint32_t position,
                             bool is_output) const {
    if (!graph_.value(value).is_tensor()) return FoundNoTensor{graph_.value(value).type};
    const auto found = facts_.quantization ? facts_.quantization(graph_, value) : std::nullopt;
    if (!found) return FoundNoQuantization{position, is_output};
    if (accepts_quantization(wanted, *found) && is_as_asked_of_input_0(wanted, *found)) {
      return std::nullopt;
    }
    return FoundQuantization{position, is_output, found->kind, found->is_symmetric(),
                             found->stored};
  }

  bool is_as_asked_of_input_0(const QuantizationSet& wanted, const Quantization& found) const {
    if (!wanted.as_input_0 || found.kind == Quantization::Kind::none) return true;
    const Operand* const first = find_plain_input(graph_, node_, 0);
    const auto other = first == nullptr ? std::nullopt : facts_.quantization(graph_, first->value);
    return other && other->kind != Quantization::Kind::none && other->stored == found.stored;
  }

  template <class Check>
  Instead of_input(const InputPlace& place, Check check) const {
    const Operand* const input = find_plain_input(graph_, node_, place.position);
    if (input != nullptr) return check(input->value);
    if (place.if_given) return std::nullopt;
    return FoundNoInput{};
  }

  template <class Check>
  Instead of_tensor(const InputPlace& place, Check check) const {
    return of_input(place, [&](ValueId value) -> Instead {
      if (!graph_.value(value).is_tensor()) return FoundNoTensor{graph_.value(value).type};
      if (!graph_.has_rank(value)) return FoundNoRank{};
      return check(graph_.shape(value));
    });
  }

  // Checks each positional input and returns what the first one that fails has instead. Captures of
  // bodies are not inputs of the op.
  template <class Check>
  Instead of_each_input(Check check) const {
    for (const Operand& operand : graph_.operands(node_)) {
      if (!operand.slot.is_positional()) continue;
      if (Instead found = check(operand.slot.position(), operand.value)) return found;
    }
    return std::nullopt;
  }

  template <class Check>
  Instead of_each_tensor(Check check) const {
    return of_each_input([&](std::uint32_t position, ValueId value) -> Instead {
      if (!graph_.value(value).is_tensor()) return std::nullopt;
      return check(position, value);
    });
  }

  const Graph& graph_;
  NodeId node_;
  const OpFacts& facts_;
};

}  // namespace

bool is_constant(const Graph& graph, ValueId value, const OpFacts& facts) {
  return graph.is_parameter(value) && !(facts.is_written && facts.is_written(value));
}

bool Quantization::is_symmetric() const {
  return (kind == Kind::tensor || kind == Kind::axis) &&
         std::all_of(zero_points.begin(), zero_points.end(),
                     [](std::int64_t point) { return point == 0; });
}

std::optional<std::int64_t> opset_of(const Graph& graph, NodeId node, const OpFacts& facts) {
  const auto version = facts.version ? facts.version(node) : std::nullopt;
  return version ? version : imported_opset(graph, graph.domain(node));
}

bool IntegerRule::accepts(std::int64_t number) const {
  if (!one_of.empty() && std::find(one_of.begin(), one_of.end(), number) == one_of.end()) {
    return false;
  }
  return (!min || number >= *min) && (!max || number <= *max) &&
         (!multiple_of || number % *multiple_of == 0);
}

std::optional<std::uint32_t> input_of(const Condition& condition) {
  if (const auto* const of = std::get_if<ConstantCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<RankCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<DimCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<ValuesCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<LayoutCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<QuantizedCondition>(&condition)) {
    if (of->of == QuantizedCondition::Of::input) return of->place.position;
  }
  return std::nullopt;
}

namespace {
bool is_unknown_type(const FoundType& found) {
  return found.type == ValueType::unknown ||
         (found.type == ValueType::tensor && found.dtype == DType::unknown);
}
}  // namespace

bool is_for_want_of_knowledge(const FoundInstead& found) {
  if (const auto* const type = std::get_if<FoundType>(&found)) return is_unknown_type(*type);
  if (const auto* const types = std::get_if<FoundTypes>(&found)) {
    return is_unknown_type(types->first) || is_unknown_type(types->other);
  }
  if (const auto* const failure = std::get_if<RelationFailure>(&found)) return failure->is_unknown;
  if (const auto* const dim = std::get_if<FoundDim>(&found)) return !dim->size;
  if (const auto* const of = std::get_if<FoundShapeOf>(&found)) {
    const auto* const dim = std::get_if<FoundDim>(&of->shape);
    return std::holds_alternative<FoundNoRank>(of->shape) || (dim != nullptr && !dim->size);
  }
  return std::holds_alternative<FoundNoRank>(found) ||
         std::holds_alternative<FoundNoElements>(found) ||
         std::holds_alternative<FoundNoLayout>(found) ||
         std::holds_alternative<FoundNoQuantization>(found);
}

bool condition_holds(const Graph& graph, NodeId node, const Condition& condition,
                     const OpFacts& facts) {
  const auto* const wanted = std::get_if<RelationCondition>(&condition);
  if (wanted != nullptr) return relation_holds(wanted->relation, graph, node, facts);
  return !find_instead(graph, node, condition, facts);
}

std::optional<FoundInstead> find_instead(const Graph& graph, NodeId node,
                                         const Condition& condition, const OpFacts& facts) {
  return std::visit(Checker(graph, node, facts), condition);
}

}  // namespace cleave
