// Conditions of rules, judged on a node.
#include "core/lists/condition.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/words.h"
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
  const auto key_of = [](const Row& row) { return std::tuple(row.op, row.attribute); };
  const auto key = std::tuple(op, attribute);
  const auto* const row = std::ranges::lower_bound(kRows, key, {}, key_of);
  return row == kRows.end() || key_of(*row) != key ? nullptr : row;
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
  if (kind == Kind::reversed) std::ranges::reverse(axes);
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
  pools.each(attribute, [&items](auto item) {
    if constexpr (std::is_same_v<decltype(item), std::string_view>) {
      items.emplace_back(std::string(item));
    } else {
      items.emplace_back(item);
    }
  });
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

bool may_have_unstated(const Graph& graph, NodeId node, std::string_view name,
                       const OpFacts& facts) {
  if (!facts.default_attribute) return false;
  const std::string_view domain = graph.domain(node), op = graph.op(node);
  const auto opset = imported_opset(graph, domain).value_or(0);
  return facts.default_attribute(domain, op, opset, name).has_value() ||
         (plain_domain(domain).empty() && find_row(op, name) != nullptr);
}

bool holds_list(const AttributeValue& value) {
  return std::holds_alternative<std::vector<Literal>>(value);
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
  const bool is_empty = contains(sizes, 0);
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

namespace {

Condition condition_of(Property property, Condition::Of of, const InputPlace& place = {}) {
  Condition condition;
  condition.property = property;
  condition.of = of;
  condition.place = place;
  return condition;
}

}  // namespace

Condition of_input(Property property, const InputPlace& place) {
  return condition_of(property, Condition::Of::input, place);
}

Condition of_inputs(Property property) { return condition_of(property, Condition::Of::inputs); }

Condition attribute_is(std::string name, std::vector<AttributeValue> one_of) {
  Condition condition = condition_of(Property::attribute, Condition::Of::node);
  condition.name = std::move(name);
  condition.wanted.one_of = std::move(one_of);
  return condition;
}

Condition attribute_within(std::string name, std::optional<double> min, std::optional<double> max) {
  Condition condition = attribute_is(std::move(name), {});
  condition.wanted.min = min;
  condition.wanted.max = max;
  return condition;
}

Condition is_stated(std::string name, bool yes) {
  Condition condition = condition_of(Property::stated, Condition::Of::node);
  condition.name = std::move(name);
  condition.wanted.yes = yes;
  return condition;
}

Condition relation_condition(Relation relation, std::string why) {
  Condition condition = condition_of(Property::relation, Condition::Of::node);
  condition.relation = std::move(relation);
  condition.why = std::move(why);
  return condition;
}

std::vector<Condition> conditions_of(const ShapeEntry& entry) {
  std::vector<Condition> conditions;
  const auto add = [&](Property property) -> Condition& {
    conditions.push_back(of_input(property, {entry.input, entry.if_given}));
    conditions.back().is_clause = true;
    return conditions.back();
  };
  add(Property::given);
  if (entry.rank) add(Property::rank).wanted.one_of = {*entry.rank};
  if (entry.is_static) add(Property::known);
  if (entry.max_dim) add(Property::dims).wanted.max = static_cast<double>(*entry.max_dim);
  for (const auto& [axis, factor] : entry.multiple_of) {
    Condition& condition = add(Property::dim);
    condition.axis = axis;
    condition.wanted.multiple_of = factor;
  }
  return conditions;
}

// ---- words of values ----

namespace {

void add_part(std::string& text, const std::string& part) {
  if (part.empty()) return;
  text += (text.empty() ? "" : ", ") + part;
}

template <std::integral Integer>
std::string text_of(Integer value) {
  return std::to_string(value);
}
std::string text_of(double value) { return shortest_text(value); }
std::string text_of(const std::string& value) { return '"' + value + '"'; }
std::string text_of(std::monostate) { return "unknown"; }

// A list, in brackets.
template <class Item>
std::string text_of(const std::vector<Item>& list) {
  std::string text;
  for (const Item& item : list) {
    add_part(text, std::visit([](const auto& held) { return text_of(held); }, item));
  }
  return '[' + text + ']';
}

template <class... Types>
std::string text_of(const std::variant<Types...>& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}

std::string range_text(const Accepted& wanted, bool is_whole) {
  const auto number = [&](double bound) {
    return is_whole ? text_of(static_cast<std::int64_t>(bound)) : text_of(bound);
  };
  if (wanted.min && wanted.max) return number(*wanted.min) + " to " + number(*wanted.max);
  if (wanted.min) return "at least " + number(*wanted.min);
  return wanted.max ? "at most " + number(*wanted.max) : std::string();
}

// "1, 2 or 3", "at least 1, a multiple of 16"; empty when anything is accepted.
std::string numbers_text(const Accepted& wanted, bool is_whole) {
  std::vector<std::string> values;
  for (const AttributeValue& value : wanted.one_of) values.push_back(text_of(value));
  std::string text = alternatives_text(values);
  add_part(text, range_text(wanted, is_whole));
  if (wanted.multiple_of) add_part(text, "a multiple of " + text_of(*wanted.multiple_of));
  if (wanted.power_of_two) add_part(text, "a power of two");
  if (wanted.finite) add_part(text, "finite");
  return text;
}

std::string elements_text(const Accepted& wanted) {
  std::string text = wanted.list ? text_of(*wanted.list) : std::string();
  const std::string of_each = numbers_text(wanted, false);
  if (!of_each.empty()) add_part(text, of_each + " in every element");
  return text;
}

std::string layouts_text(LayoutSet layouts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kLayoutNames.size(); ++i) {
    if (layouts.contains(static_cast<LayoutName>(i))) names.emplace_back(kLayoutNames[i]);
  }
  return alternatives_text(names);
}

std::string layout_text(const TensorLayout& layout) {
  for (const LayoutName name : {LayoutName::sparse, LayoutName::contiguous,
                                LayoutName::channels_last, LayoutName::channels_last_3d}) {
    if (layout.layouts.contains(name)) {
      return std::string(kLayoutNames[static_cast<std::size_t>(name)]);
    }
  }
  std::string text;
  for (const auto& stride : layout.strides) add_part(text, stride ? text_of(*stride) : "?");
  return "of strides [" + text + "]";
}

std::string quantization_text(const QuantizationSet& wanted) {
  static constexpr std::array<std::string_view, 5> kWords = {
      "not quantised", "quantised per tensor", "quantised per axis", "quantised in another way",
      "quantised symmetrically"};
  std::vector<std::string> ways;
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (wanted.has(static_cast<QuantizationSet::Way>(i))) ways.emplace_back(kWords[i]);
  }
  std::string text = ways.empty() ? "quantised" : alternatives_text(ways);
  if (wanted.types != TypeSet{}) text += " to " + types_text(wanted.types);
  if (wanted.as_input_0) text += " to the type that input 0 is quantised to";
  return text;
}

std::string quantization_text(const Quantization& found) {
  QuantizationSet as_set;
  as_set.add(static_cast<QuantizationSet::Way>(found.kind));
  const bool is_none = found.kind == Quantization::Kind::none;
  if (!is_none && found.stored != DType::unknown) as_set.types.add(found.stored);
  const bool is_shifted = !is_none && !found.is_symmetric();
  return quantization_text(as_set) + (is_shifted ? ", not symmetrically" : "");
}

std::string rank_text(std::size_t rank) { return "rank " + std::to_string(rank); }

// "8 in dim 1", "\"N\" in dim 0", "unknown in dim -1"
std::string dim_text(const Graph& graph, Dim dim, std::int64_t axis) {
  std::string text = "unknown";
  if (dim.is_symbol()) text = '"' + std::string(graph.text(dim.name())) + '"';
  if (dim.is_fixed()) text = text_of(dim.size());
  return text + " in dim " + text_of(axis);
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "dim 1 of input 0" of "in[0].dim[1]"; a term that has no such words as it is.
std::string term_words(std::string_view term) {
  const std::string text(term);
  const bool is_input = text.starts_with("in["), is_output = text.starts_with("out[");
  if (text.starts_with("attr.") && text.find_first_of(" [()+-*/%", 5) == text.npos) {
    return "attribute " + text.substr(5);
  }
  const std::size_t open = text.find('['), close = text.find("].");
  if ((!is_input && !is_output) || close == text.npos) return text;
  const std::string number = text.substr(open + 1, close - open - 1);
  if (!is_number(number)) return text;
  const std::string whose = " of " + std::string(is_input ? "input " : "output ") + number;
  std::string property = text.substr(close + 2);
  if (property == "elements") return "the number of elements" + whose;
  if (property == "dim") return "the shape" + whose;
  if (property == "rank" || property == "dtype") return "the " + property + whose;
  if (property == "dim[-1]") return "the last dim" + whose;
  if (!property.starts_with("dim[") || property.find(']') + 1 != property.size()) return text;
  property = property.substr(4, property.size() - 5);
  return is_number(property) ? "dim " + property + whose : text;
}

// Where the sign of a comparison is in its text: outside all brackets and texts.
std::size_t place_of_sign(std::string_view text, const std::string& sign) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    is_quoted ^= c == '"';
    if (is_quoted) continue;
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth == 0 && text.substr(at).starts_with(sign)) return at;
  }
  return text.npos;
}

// "attribute group is 32, wants dim 1 of input 0, which is 64"
std::string failure_words(const RelationFailure& failure) {
  if (failure.is_unknown) return term_words(failure.part) + " is unknown";
  const std::string_view part = failure.part;
  const std::size_t sign = failure.is_comparison ? place_of_sign(part, failure.sign) : part.npos;
  // What is no comparison has no values to tell of.
  if (sign == part.npos) return failure.part + " does not hold";
  const std::string_view right = trimmed(part.substr(sign + failure.sign.size()));
  const std::string value = text_of(failure.right);
  const std::string_view wants = failure.sign == "!="   ? "anything but "
                                 : failure.sign == "<"  ? "less than "
                                 : failure.sign == "<=" ? "at most "
                                 : failure.sign == ">"  ? "more than "
                                 : failure.sign == ">=" ? "at least "
                                                        : "";
  // A number or text that the rule states is its own value, and is not told twice.
  const bool is_literal = right == value || right.starts_with('"');
  return term_words(trimmed(part.substr(0, sign))) + " is " + text_of(failure.left) + ", wants " +
         std::string(wants) +
         (is_literal ? std::string(right) : term_words(right) + ", which is " + value);
}

// As the relation writes it, for programs: "32 == 64".
std::string values_text(const RelationFailure& failure) {
  if (failure.is_comparison && !failure.is_unknown) {
    return text_of(failure.left) + " " + failure.sign + " " + text_of(failure.right);
  }
  return failure.is_unknown ? failure.part + " is unknown" : "false";
}

}  // namespace

std::string attribute_value_text(const AttributeValue& value) { return text_of(value); }

std::string types_text(const TypeSet& types) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < unsigned{kDTypeCount}; ++i) {
    if ((types.dtypes >> i & 1U) != 0) names.emplace_back(dtype_name(static_cast<DType>(i)));
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(ValueType::unknown); ++i) {
    if ((unsigned{types.value_types} >> i & 1U) != 0) {
      names.emplace_back(value_type_name(static_cast<ValueType>(i)));
    }
  }
  return names.empty() ? "nothing" : alternatives_text(names);
}

std::string found_type_text(ValueType type, DType dtype) {
  if (type == ValueType::unknown) return "of unknown type";
  if (type != ValueType::tensor) return "a " + std::string(value_type_name(type));
  return dtype == DType::unknown ? "of unknown dtype" : std::string(dtype_name(dtype));
}

std::string relation_failure_text(const Relation& relation, const std::string& why,
                                  const RelationFailure& failure) {
  const bool has_values = failure.is_unknown || failure.is_comparison;
  if (!why.empty()) return why + (has_values ? ": " + failure_words(failure) : "");
  const bool is_part_of_it = failure.is_unknown && failure.part != relation.text;
  return (is_part_of_it ? relation.text + " cannot be decided: " : "") + failure_words(failure);
}

// ---- condition check ----

namespace {

std::optional<double> number_of(const AttributeValue& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

bool is_power_of_two(double number) {
  int exponent = 0;
  return number > 0 && std::isfinite(number) && std::frexp(number, &exponent) == 0.5;
}

}  // namespace

bool accepts(const Accepted& wanted, const AttributeValue& value) {
  const auto equals = [&](const AttributeValue& other) { return equal_values(other, value); };
  const auto& one_of = wanted.one_of;
  if (!one_of.empty() && std::ranges::none_of(one_of, equals)) return false;
  const bool has_bounds =
      wanted.min || wanted.max || wanted.multiple_of || wanted.power_of_two || wanted.finite;
  if (!has_bounds) return true;
  if (const auto* const list = std::get_if<std::vector<Literal>>(&value)) {
    return std::all_of(list->begin(), list->end(), [&](const Literal& item) {
      return accepts(wanted, AttributeValue(stored_value(item)));
    });
  }
  const auto number = number_of(value);
  if (!number) return false;
  if (wanted.min && !(*number >= *wanted.min)) return false;
  if (wanted.max && !(*number <= *wanted.max)) return false;
  if (const auto* const integer = std::get_if<std::int64_t>(&value); wanted.multiple_of) {
    if (integer == nullptr || *integer % *wanted.multiple_of != 0) return false;
  }
  if (wanted.power_of_two && !is_power_of_two(*number)) return false;
  return !wanted.finite || std::isfinite(*number);
}

namespace {

// Of a rank or a size.
bool accepts_size(const Accepted& wanted, std::int64_t size) {
  const auto is_size = [&](const AttributeValue& other) {
    const auto* const number = std::get_if<std::int64_t>(&other);
    return number != nullptr && *number == size;
  };
  const auto& one_of = wanted.one_of;
  if (!one_of.empty() && std::ranges::none_of(one_of, is_size)) return false;
  if (wanted.min && static_cast<double>(size) < *wanted.min) return false;
  if (wanted.max && static_cast<double>(size) > *wanted.max) return false;
  return !wanted.multiple_of || size % *wanted.multiple_of == 0;
}

// The rank that the node's axes refer to: the output's when the op adds axes. nullopt when it is
// unknown.
std::optional<std::size_t> axis_rank(const Graph& graph, NodeId node) {
  const std::string_view op = graph.op(node);
  const auto rank_of = [&](ValueId id) -> std::optional<std::size_t> {
    if (!graph.has_rank(id)) return std::nullopt;
    return graph.shape(id).size();
  };
  if (op == "Unsqueeze" || op == "OneHot") return rank_of(*graph.outputs(node).begin());
  const Operand* const input = find_plain_input(graph, node, 0);
  return input != nullptr ? rank_of(input->value) : std::nullopt;
}

// The value with its negative axes counted from the front.
AttributeValue from_front(AttributeValue value, std::size_t rank) {
  const auto normalise = [rank](std::int64_t& axis) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
  };
  if (auto* const axis = std::get_if<std::int64_t>(&value)) normalise(*axis);
  if (auto* const axes = std::get_if<std::vector<Literal>>(&value)) {
    for (Literal& item : *axes) {
      if (auto* const axis = std::get_if<std::int64_t>(&item)) normalise(*axis);
    }
    std::sort(axes->begin(), axes->end());
  }
  return value;
}

// Whether one of the values that are accepted names the same axes: -1 is 3 for rank 4, and the order is
// ignored.
bool names_same_axes(const Graph& graph, NodeId node, const Condition& asks,
                     const AttributeValue& value) {
  if (asks.name != "axis" && asks.name != "axes") return false;
  const auto rank = axis_rank(graph, node);
  if (!rank) return false;
  const AttributeValue found = from_front(value, *rank);
  const auto& one_of = asks.wanted.one_of;
  return std::ranges::any_of(one_of, [&](const AttributeValue& accepted) {
    return equal_values(from_front(accepted, *rank), found);
  });
}

// A tensor that is not quantised has no numbers whose type is asked for.
bool accepts_quantization(const QuantizationSet& wanted, const Quantization& found) {
  using Way = QuantizationSet::Way;
  const bool is_quantized = found.kind != Quantization::Kind::none;
  const bool is_way = wanted.ways == 0 ? is_quantized
                                       : wanted.has(static_cast<Way>(found.kind)) ||
                                             (wanted.has(Way::symmetric) && found.is_symmetric());
  if (!is_way || wanted.types == TypeSet{} || !is_quantized) return is_way;
  return (wanted.types.dtypes >> static_cast<unsigned>(found.stored) & 1U) != 0;
}

// Checks one condition on one node. Each check says what the node has instead, for which it makes no
// text unless somebody asks.
class Check {
 public:
  Check(const Graph& graph, NodeId node, const Condition& condition, const OpFacts& facts,
        FailedPart* failed)
      : graph_(graph),
        node_(node),
        asks_(condition),
        wanted_(condition.wanted),
        facts_(facts),
        failed_(failed) {}

  bool holds() const {
    using Of = Condition::Of;
    switch (asks_.of) {
      case Of::node:
        return node_holds();
      case Of::input:
        return input_holds();
      case Of::inputs:
        if (asks_.property == Property::same_type) return same_type();
        if (asks_.property == Property::known && !wanted_.yes) return has_open();
        return inputs_hold();
      case Of::output:
        return outputs_hold();
      case Of::activations:
      case Of::every:
        break;
    }
    return inputs_hold() && outputs_hold();
  }

 private:
  // The words of subjects, as functions: see fails().
  auto attribute_text() const {
    return [this] { return "attribute " + asks_.name; };
  }
  static auto input_text(std::uint32_t position) {
    return [position] { return "input " + text_of(position); };
  }

  // ---- which tensors ----

  bool input_holds() const {
    if (asks_.property == Property::given) return given();
    const Operand* const input = find_plain_input(graph_, node_, asks_.place.position);
    if (input != nullptr) return value_holds(input->value, asks_.place.position, false);
    if (asks_.place.if_given || asks_.is_clause) return true;
    return fails(
        input_text(asks_.place.position), [] { return "not given"; }, "input");
  }

  bool is_of_shape() const {
    return asks_.property == Property::rank || asks_.property == Property::dim ||
           asks_.property == Property::dims || asks_.property == Property::known;
  }

  // Captures of bodies are not inputs of the op.
  bool inputs_hold() const {
    for (const Operand& operand : graph_.operands(node_)) {
      const ValueId value = operand.value;
      if (!operand.slot.is_positional()) continue;
      if (asks_.property != Property::type && !graph_.value(value).is_tensor()) continue;
      if (asks_.of == Condition::Of::activations && is_constant(graph_, value, facts_)) continue;
      if (!value_holds(value, operand.slot.position(), false)) return false;
    }
    return true;
  }

  bool outputs_hold() const {
    for (const ValueId output : graph_.outputs(node_)) {
      const std::uint32_t slot = graph_.value(output).slot;
      if (asks_.of == Condition::Of::output && slot != asks_.place.position) continue;
      if (!value_holds(output, slot, true)) return false;
    }
    return true;
  }

  bool value_holds(ValueId value, std::uint32_t position, bool is_output) const {
    const auto subject = [&] { return (is_output ? "output " : "input ") + text_of(position); };
    const auto fails_by = [&](const auto& actual, std::string_view found = "") {
      return fails(is_of_shape() ? "shape of " : "", subject, actual, found);
    };
    const Value& held = graph_.value(value);
    const bool needs_tensor = is_of_shape() || asks_.property == Property::layout ||
                              asks_.property == Property::quantization;
    if (needs_tensor && !held.is_tensor()) {
      return fails_by([&] { return found_type_text(held.type, DType::unknown); }, "type");
    }
    if (is_of_shape() && !graph_.has_rank(value)) {
      return fails_by([] { return "of unknown rank"; }, "unknown");
    }
    switch (asks_.property) {
      case Property::constant: {
        const bool is_known = is_constant(graph_, value, facts_);
        if (is_known == wanted_.yes) return true;
        if (is_known) return fails_by([] { return "a constant"; });
        if (!graph_.is_parameter(value)) return fails_by([] { return "no constant"; });
        return fails_by([] { return "written by the model"; }, "written");
      }
      case Property::rank: {
        const std::size_t rank = graph_.shape(value).size();
        if (accepts_size(wanted_, static_cast<std::int64_t>(rank))) return true;
        return fails_by([&] { return rank_text(rank); }, "rank");
      }
      case Property::known:
      case Property::dims: {
        const Shape shape = graph_.shape(value);
        for (auto i = static_cast<std::size_t>(asks_.axis); i < shape.size(); ++i) {
          if (shape[i].is_fixed() && accepts_size(wanted_, shape[i].size())) continue;
          return fails_by([&] { return dim_text(graph_, shape[i], static_cast<std::int64_t>(i)); });
        }
        return true;
      }
      case Property::dim: {
        const Shape shape = graph_.shape(value);
        const auto place = axis_of(asks_.axis, shape.size());
        if (!place) return fails_by([&] { return rank_text(shape.size()); }, "rank");
        const Dim dim = shape[*place];
        if (dim.is_fixed() && accepts_size(wanted_, dim.size())) return true;
        return fails_by([&] { return dim_text(graph_, dim, asks_.axis); });
      }
      case Property::type:
        if (wanted_.types.accepts(held)) return true;
        return fails_by([&] { return found_type_text(held.type, held.dtype); });
      case Property::values:
        return elements_hold(value, fails_by);
      case Property::layout: {
        const auto layout = facts_.layout ? facts_.layout(value) : std::nullopt;
        if (!layout) return fails_by([] { return "of unknown layout"; }, "unknown");
        if (layout->layouts.meets(wanted_.layouts)) return true;
        return fails_by([&] { return layout_text(*layout); });
      }
      case Property::quantization: {
        const auto found = facts_.quantization ? facts_.quantization(graph_, value) : std::nullopt;
        if (!found) return fails_by([] { return "of unknown quantisation"; }, "unknown");
        if (accepts_quantization(wanted_.quantization, *found) && is_as_input_0(*found)) {
          return true;
        }
        return fails_by([&] { return quantization_text(*found); });
      }
      default:
        return false;  // of no tensor
    }
  }

  template <class FailsBy>
  bool elements_hold(ValueId value, const FailsBy& fails_by) const {
    if (!graph_.is_parameter(value)) return fails_by([] { return "no constant"; }, "variable");
    if (!is_constant(graph_, value, facts_)) {
      return fails_by([] { return "written by the model"; }, "written");
    }
    const auto elements = facts_.elements ? facts_.elements(graph_, value) : std::nullopt;
    if (!elements) {
      return fails_by([] { return "a constant whose elements are not read"; }, "unknown");
    }
    const auto& list = wanted_.list;
    if (list && list->size() != elements->size()) {
      return fails_by([&] { return text_of(elements->size()) + " elements"; }, "count");
    }
    for (std::size_t i = 0; i < elements->size(); ++i) {
      const AttributeValue element = stored_value((*elements)[i]);
      const bool is_listed = !list || equal_values(stored_value((*list)[i]), element);
      if (is_listed && accepts(wanted_, element)) continue;
      return fails_by([&] { return text_of(element) + " in element " + text_of(i); });
    }
    return true;
  }

  bool is_as_input_0(const Quantization& found) const {
    if (!wanted_.quantization.as_input_0 || found.kind == Quantization::Kind::none) return true;
    const Operand* const first = find_plain_input(graph_, node_, 0);
    const auto other = first == nullptr ? std::nullopt : facts_.quantization(graph_, first->value);
    return other && other->kind != Quantization::Kind::none && other->stored == found.stored;
  }

  // ---- the node and all of its inputs ----

  bool node_holds() const {
    switch (asks_.property) {
      case Property::attribute:
        return attribute();
      case Property::stated: {
        const bool is_there = find_attribute(graph_, node_, asks_.name) != nullptr;
        if (is_there == wanted_.yes) return true;
        return fails(attribute_text(), [&] { return is_there ? "stated" : "absent"; });
      }
      case Property::outputs_used:
        return outputs_used();
      case Property::relation:
        return relation();
      default:
        return false;  // of no node
    }
  }

  bool attribute() const {
    const auto value = attribute_value(graph_, node_, asks_.name, facts_);
    if (value && (accepts(wanted_, *value) || names_same_axes(graph_, node_, asks_, *value))) {
      return true;
    }
    return fails(attribute_text(), [&]() -> std::string {
      const bool is_stated = find_attribute(graph_, node_, asks_.name) != nullptr;
      if (!wanted_.one_of.empty()) {
        failed_->found = value ? value_key(*value) : is_stated ? "opaque" : "absent";
      }
      // In a list "[3, 3]" is one number or another.
      if (value && holds_list(*value) && !wanted_.one_of.empty() &&
          std::ranges::none_of(wanted_.one_of, holds_list)) {
        failed_->expected += " (a list is written [" + text_of(*value) + "])";
      }
      if (value) return text_of(*value) + (is_stated ? "" : " by default");
      return is_stated ? "not a number, string or list of these" : "not given";
    });
  }

  // An entry of "shapes" asks for the input itself; elsewhere one in a list counts, too.
  bool given() const {
    if (asks_.place.if_given) return true;
    const std::uint32_t position = asks_.place.position;
    const bool is_given = std::ranges::any_of(graph_.operands(node_), [&](const Operand& operand) {
      return operand.slot.is_positional() && operand.slot.position() == position &&
             !(asks_.is_clause && operand.slot.is_inside_list());
    });
    if (is_given == wanted_.yes) return true;
    return fails(input_text(position), [&] {
      return is_given ? "given" : asks_.is_clause ? "not given" : "left out";
    });
  }

  bool outputs_used() const {
    for (const ValueId output : graph_.outputs(node_)) {
      const std::uint32_t slot = graph_.value(output).slot;
      const bool is_used = !graph_.users(output).empty() || graph_.is_graph_output(output);
      if (!is_used || contains(wanted_.one_of, AttributeValue(std::int64_t{slot}))) continue;
      return fails([&] { return "output " + text_of(slot); }, [] { return "read"; });
    }
    return true;
  }

  bool relation() const {
    if (relation_holds(asks_.relation, graph_, node_, facts_)) return true;
    return fails([&] { return asks_.relation.text; },
                 [&] {
                   const RelationFailure failure =
                       relation_failure(asks_.relation, graph_, node_, facts_);
                   failed_->sentence = relation_failure_text(asks_.relation, asks_.why, failure);
                   return values_text(failure);
                 });
  }

  bool same_type() const {
    const Operand* first = nullptr;
    const auto text = [&](const Operand& operand) {
      const Value& value = graph_.value(operand.value);
      return found_type_text(value.type, value.dtype) + " at " + text_of(operand.slot.position());
    };
    for (const Operand& operand : graph_.operands(node_)) {
      if (!operand.slot.is_positional()) continue;
      if (first == nullptr) first = &operand;
      const Value &value = graph_.value(operand.value), &other = graph_.value(first->value);
      const bool is_known = !value.is_tensor() || value.dtype != DType::unknown;
      if (is_known && value.type == other.type && value.dtype == other.dtype) continue;
      return fails([] { return "the type of inputs"; },
                   [&] { return text(*first) + " and " + text(operand); });
    }
    return true;
  }

  bool has_open() const {
    Condition known = asks_;
    known.wanted.yes = true;
    if (!Check(graph_, node_, known, facts_, nullptr).holds()) return true;
    return fails([] { return "the shape of inputs"; }, [] { return "known in every dim"; });
  }

  // ---- words ----

  // The words of the subject and of what it is are made by functions, and only if they are asked for.
  template <class Subject, class Actual>
  bool fails(const Subject& subject, const Actual& actual, std::string_view found = {}) const {
    return fails("", subject, actual, found);
  }
  template <class Subject, class Actual>
  bool fails(std::string_view before, const Subject& subject, const Actual& actual,
             std::string_view found = {}) const {
    if (failed_ == nullptr) return false;
    failed_->condition = name();
    failed_->subject = std::string(before) + std::string(subject());
    failed_->expected = expected(found);
    // The entries of "shapes" have a change for each rank alone.
    const bool asks_rank = asks_.property == Property::rank && asks_.of == Condition::Of::input;
    if (asks_rank || !asks_.is_clause) failed_->found = found;
    failed_->actual = actual();
    if (asks_rank) failed_->found = failed_->actual;
    return false;
  }

  std::string_view name() const {
    // In the order of the enumerators.
    static constexpr std::array<std::string_view, 15> kNames = {"attribute",    "absent_attribute",
                                                                "given",        "constant",
                                                                "outputs_used", "rank",
                                                                "dim",          "dims",
                                                                "input_shape",  "inputs_all",
                                                                "inputs_same",  "values",
                                                                "layout",       "quantized",
                                                                "where"};
    static_assert(kNames.size() == static_cast<std::size_t>(Property::relation) + 1);
    if (asks_.is_clause) return "shape";
    const bool is_of_all = asks_.of == Condition::Of::inputs;
    if (asks_.property == Property::rank && is_of_all) return "max_rank";
    return kNames[static_cast<std::size_t>(asks_.property)];
  }

  std::string expected(std::string_view found) const {
    const std::string numbers = numbers_text(wanted_, is_of_shape());
    switch (asks_.property) {
      case Property::attribute:
        return numbers;
      case Property::stated:
        return wanted_.yes ? "stated" : "absent";
      case Property::given:
        return wanted_.yes ? "given" : "left out";
      case Property::constant:
        // Whichever is wanted, an input that is not there is said to lack a constant.
        return wanted_.yes || found == "input" ? "a constant" : "no constant";
      case Property::outputs_used:
        return wanted_.one_of.empty() ? "no output read" : "only output " + numbers + " read";
      case Property::rank:
        if (asks_.of != Condition::Of::inputs) return "rank " + numbers;
        return "rank " + text_of(static_cast<std::int64_t>(*wanted_.max)) + " at most";
      case Property::dim:
        return (numbers.empty() ? "a known size" : numbers) + " in dim " + text_of(asks_.axis);
      case Property::dims:
        return numbers + " in every dim";
      case Property::known:
        if (!wanted_.yes) return "an unknown dim";
        return asks_.axis == 0 ? "a known size in every dim"
                               : "a known size in every dim but the first";
      case Property::type:
        return types_text(wanted_.types);
      case Property::same_type:
        return "the same for all";
      case Property::values:
        return elements_text(wanted_);
      case Property::layout:
        return layouts_text(wanted_.layouts);
      case Property::quantization:
        return quantization_text(wanted_.quantization);
      case Property::relation:
        break;
    }
    return "true";
  }

  const Graph& graph_;
  NodeId node_;
  const Condition& asks_;
  const Accepted& wanted_;
  const OpFacts& facts_;
  FailedPart* failed_;
};

}  // namespace

bool is_constant(const Graph& graph, ValueId value, const OpFacts& facts) {
  return graph.is_parameter(value) && !(facts.is_written && facts.is_written(value));
}

bool Quantization::is_symmetric() const {
  return (kind == Kind::tensor || kind == Kind::axis) &&
         std::ranges::all_of(zero_points, [](std::int64_t point) { return point == 0; });
}

std::optional<std::int64_t> opset_of(const Graph& graph, NodeId node, const OpFacts& facts) {
  const auto version = facts.version ? facts.version(node) : std::nullopt;
  return version ? version : imported_opset(graph, graph.domain(node));
}

bool condition_holds(const Graph& graph, NodeId node, const Condition& condition,
                     const OpFacts& facts, FailedPart* failed) {
  return Check(graph, node, condition, facts, failed).holds();
}

}  // namespace cleave
