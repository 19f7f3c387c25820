// Shapes that operators of the default domain give.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "formats/onnx/infer/rules.h"

namespace cleave {

// ---- shape rules ----

OnnxDim fixed_dim(std::int64_t size) { return {.size = size < 0 ? -1 : size, .name = {}}; }

OnnxDim dim_at(const OnnxType* type, std::size_t axis) {
  return type != nullptr && type->has_shape && axis < type->rank() ? type->dims[axis] : OnnxDim{};
}

namespace {

OnnxDim dim_plus(const OnnxDim& dim, std::int64_t more) {
  if (more == 0) return dim;
  std::int64_t sum = 0;
  if (!dim.is_fixed() || __builtin_add_overflow(dim.size, more, &sum)) return {};
  return fixed_dim(sum);
}

}  // namespace

OnnxDim dim_times(const OnnxDim& dim, std::int64_t factor) {
  return product_of(dim, fixed_dim(factor));
}

OnnxDim product_of(const OnnxDim& a, const OnnxDim& b) {
  if (a.size == 1) return b;
  if (b.size == 1) return a;
  if (a.size == 0 || b.size == 0) return fixed_dim(0);
  std::int64_t product = 0;
  if (!a.is_fixed() || !b.is_fixed() || __builtin_mul_overflow(a.size, b.size, &product)) return {};
  return fixed_dim(product);
}

OnnxDim sum_of(const OnnxDim& a, const OnnxDim& b) {
  if (a.is_fixed()) return dim_plus(b, a.size);
  return b.is_fixed() ? dim_plus(a, b.size) : OnnxDim{};
}

OnnxDim dim_over(const OnnxDim& dim, std::int64_t divisor) {
  if (divisor == 1) return dim;
  if (!dim.is_fixed() || divisor <= 0 || dim.size % divisor != 0) return {};
  return fixed_dim(dim.size / divisor);
}

OnnxDim broadcast_dim(const OnnxDim& a, const OnnxDim& b) {
  if (a == b || b.size == 1) return a;
  if (a.size == 1) return b;
  if (a.is_fixed() && b.is_fixed()) return {};
  if (a.is_fixed()) return a;
  return b.is_fixed() ? b : OnnxDim{};
}

std::vector<OnnxDim> broadcast_shape(const std::vector<OnnxDim>& a, const std::vector<OnnxDim>& b) {
  std::vector<OnnxDim> out(std::max(a.size(), b.size()), fixed_dim(1));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from_end = out.size() - i;
    if (from_end <= a.size()) out[i] = a[a.size() - from_end];
    if (from_end <= b.size()) out[i] = broadcast_dim(out[i], b[b.size() - from_end]);
  }
  return out;
}

bool is_possible_shape(const std::vector<OnnxDim>& dims) {
  std::int64_t count = 1;
  return std::ranges::all_of(dims, [&](const OnnxDim& dim) {
    return !__builtin_mul_overflow(count, std::max<std::int64_t>(dim.size, 1), &count);
  });
}

namespace {

// Number of elements of a 1-D input; nullopt when it is unknown or larger than any rank.
std::optional<std::size_t> list_length(const OnnxOpCall& call, std::size_t i) {
  // PyTorch and NumPy stop at 64 axes, TensorFlow at 254: a longer list is no list of axes.
  constexpr std::int64_t kMaxRank = 256;
  const OnnxType* type = call.shaped_input(i);
  if (type == nullptr || type->rank() != 1) return std::nullopt;
  const std::int64_t size = type->size(0);
  if (size < 0 || size > kMaxRank) return std::nullopt;
  return static_cast<std::size_t>(size);
}

// The rank for operators that add or remove axes given by an input, whose elements may be unknown.
std::optional<std::size_t> weakest_rank(const OnnxOpCall& call) {
  const std::string_view op = call.op();
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr || call.opset() < 13) return std::nullopt;
  const std::optional<std::size_t> axes = list_length(call, 1);
  if (op == "Unsqueeze" && axes) return from->rank() + *axes;
  if (op == "Squeeze" && axes && *axes <= from->rank()) return from->rank() - *axes;
  return std::nullopt;
}

}  // namespace

const OnnxType* take_dtype(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from != nullptr) call.outputs[0] = onnx_tensor_type(from->dtype);
  return from;
}

bool give_shape(OnnxOpCall& call, std::vector<OnnxDim> dims) {
  call.outputs[0].set_shape(std::move(dims));
  return true;
}

bool same_as_first(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = *from;
  return true;
}

void add_weakest_rank(OnnxOpCall& call) {
  if (call.outputs.empty() || !call.domain().empty()) return;
  OnnxType& out = call.outputs[0];
  if (out.has_shape || (out.is_known() && !out.is_tensor())) return;
  const std::optional<std::size_t> rank = weakest_rank(call);
  if (!rank) return;
  if (!out.is_known()) out = onnx_tensor_type(call.input(0)->dtype);
  out.set_shape(std::vector<OnnxDim>(*rank));
}

// ---- common ----
//
// The operators that most nodes of a model have, answered as the library's schema functions answer
// them, but without a protocol buffer for each type: those took a third of the time to read a model.
// A call that is in any way unusual is left to the schema, which words its fault.

namespace {

// No attributes, one output, `inputs` plain tensors of known shapes.
bool is_plain(const OnnxOpCall& call, std::size_t inputs) {
  if (call.input_count() != inputs || call.outputs.size() != 1) return false;
  if (!call.node().attributes.empty()) return false;
  for (std::size_t i = 0; i < inputs; ++i) {
    const OnnxType* const type = call.shaped_input(i);
    if (type == nullptr || !type->full.empty() || !is_possible_shape(type->dims)) return false;
  }
  return true;
}

// `since`: the opset that brought the operator, or took its attributes away.
template <int since>
bool first_type(OnnxOpCall& call) {
  return call.opset() >= since && is_plain(call, 1) && same_as_first(call);
}

// What the library has for dims that broadcast; nullopt when they contradict each other.
std::optional<OnnxDim> common_dim(const OnnxDim& a, const OnnxDim& b) {
  if (a.is_fixed() && b.is_fixed()) {
    if (a.size != b.size && a.size != 1 && b.size != 1) return std::nullopt;
    return a.size == 1 ? b : a;
  }
  if (a.is_fixed()) return a.size == 1 ? b : a;
  if (b.is_fixed()) return b.size == 1 ? a : b;
  return a.name == b.name ? a : OnnxDim{};
}

// The first `rank_a` and `rank_b` dims broadcast to each other, aligned at their ends.
std::optional<std::vector<OnnxDim>> common_dims(const OnnxType& a, std::size_t rank_a,
                                                const OnnxType& b, std::size_t rank_b) {
  const std::size_t rank = std::max(rank_a, rank_b);
  std::vector<OnnxDim> dims(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t from_end = rank - i;
    if (from_end > rank_a) {
      dims[i] = b.dims[rank_b - from_end];
    } else if (from_end > rank_b) {
      dims[i] = a.dims[rank_a - from_end];
    } else if (auto dim = common_dim(a.dims[rank_a - from_end], b.dims[rank_b - from_end])) {
      dims[i] = *std::move(dim);
    } else {
      return std::nullopt;
    }
  }
  return dims;
}

// `dtype`: of the output; unknown: that of input 0.
bool broadcast_pair(OnnxOpCall& call, DType dtype) {
  if (call.opset() < 7 || !is_plain(call, 2)) return false;
  const OnnxType &a = *call.input(0), &b = *call.input(1);
  auto dims = common_dims(a, a.rank(), b, b.rank());
  if (!dims) return false;
  call.outputs[0] = onnx_tensor_type(dtype == DType::unknown ? a.dtype : dtype, *std::move(dims));
  return true;
}
bool arithmetic(OnnxOpCall& call) { return broadcast_pair(call, DType::unknown); }
bool comparison(OnnxOpCall& call) { return broadcast_pair(call, DType::boolean); }

bool matrix_product(OnnxOpCall& call) {
  if (!is_plain(call, 2)) return false;
  const OnnxType &a = *call.input(0), &b = *call.input(1);
  if (a.rank() < 2 || b.rank() < 2) return false;
  const OnnxDim &left = a.dims[a.rank() - 1], &right = b.dims[b.rank() - 2];
  if (left.is_fixed() && right.is_fixed() && left.size != right.size) return false;
  auto dims = common_dims(a, a.rank() - 2, b, b.rank() - 2);
  if (!dims) return false;
  dims->push_back(a.dims[a.rank() - 2]);
  dims->push_back(b.dims[b.rank() - 1]);
  call.outputs[0] = onnx_tensor_type(a.dtype, *std::move(dims));
  return true;
}

constexpr std::array<OnnxShapeRuleEntry, 40> kCommonRules = {{
    {"", "Abs", first_type<6>},      {"", "Acos", first_type<7>},
    {"", "Acosh", first_type<9>},    {"", "Asin", first_type<7>},
    {"", "Asinh", first_type<9>},    {"", "Atan", first_type<7>},
    {"", "Atanh", first_type<9>},    {"", "Ceil", first_type<6>},
    {"", "Cos", first_type<7>},      {"", "Cosh", first_type<9>},
    {"", "Erf", first_type<9>},      {"", "Exp", first_type<6>},
    {"", "Floor", first_type<6>},    {"", "HardSwish", first_type<14>},
    {"", "Identity", first_type<1>}, {"", "Log", first_type<6>},
    {"", "Neg", first_type<6>},      {"", "Reciprocal", first_type<6>},
    {"", "Relu", first_type<6>},     {"", "Round", first_type<11>},
    {"", "Sigmoid", first_type<6>},  {"", "Sign", first_type<9>},
    {"", "Sin", first_type<7>},      {"", "Sinh", first_type<9>},
    {"", "Softplus", first_type<1>}, {"", "Softsign", first_type<1>},
    {"", "Sqrt", first_type<6>},     {"", "Tan", first_type<7>},
    {"", "Tanh", first_type<6>},     {"", "Add", arithmetic},
    {"", "Div", arithmetic},         {"", "Mul", arithmetic},
    {"", "Sub", arithmetic},         {"", "And", comparison},
    {"", "Equal", comparison},       {"", "Greater", comparison},
    {"", "Less", comparison},        {"", "Or", comparison},
    {"", "Xor", comparison},         {"", "MatMul", matrix_product},
}};

}  // namespace

std::span<const OnnxShapeRuleEntry> onnx_common_rules() { return kCommonRules; }

// ---- elementwise ----
//
// Operators whose output has the shape of an input, or the shape that the inputs broadcast to; and
// operators that only change the dtype.

namespace {

// Output 0 with the shape of input 0 and this dtype.
bool as_first(OnnxOpCall& call, DType dtype) {
  call.outputs[0] = onnx_tensor_type(dtype);
  if (const OnnxType* from = call.shaped_input(0)) call.outputs[0].set_shape(from->dims);
  return true;
}

// Output 0 with the shape that all inputs broadcast to, and this dtype.
bool broadcast(OnnxOpCall& call, DType dtype) {
  call.outputs[0] = onnx_tensor_type(dtype);
  std::optional<std::vector<OnnxDim>> shape;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const OnnxType* from = call.shaped_input(i);
    if (from == nullptr) return true;
    shape = shape ? broadcast_shape(*shape, from->dims) : from->dims;
  }
  if (shape) call.outputs[0].set_shape(*std::move(shape));
  return true;
}

bool broadcast_same_dtype(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  return from != nullptr && broadcast(call, from->dtype);
}
bool broadcast_to_bool(OnnxOpCall& call) {
  return call.opset() >= 7 && broadcast(call, DType::boolean);
}
bool as_first_to_bool(OnnxOpCall& call) { return as_first(call, DType::boolean); }

// The library's answer would do up to opset 17, but it refuses dtypes that it does not know
// (float8, 4-bit integers).
bool cast(OnnxOpCall& call) {
  const OnnxAttribute* to = call.attribute("to");
  if (to == nullptr || to->type != 2) return false;
  return as_first(call, dtype_from_onnx(call.integer("to", 0)));
}

bool cast_like(OnnxOpCall& call) {
  const OnnxType* like = call.tensor_input(1);
  return like != nullptr && as_first(call, like->dtype);
}

// Both dtypes have the same width.
bool bit_cast(OnnxOpCall& call) { return as_first(call, dtype_from_onnx(call.integer("to", 0))); }

bool quantize_linear(OnnxOpCall& call) {
  DType dtype = DType::uint8;
  const std::int64_t stated = call.integer("output_dtype", 0);
  if (stated != 0) dtype = dtype_from_onnx(stated);
  if (const OnnxType* zero_point = call.tensor_input(2)) {
    dtype = zero_point->dtype;
  } else if (call.has_input(2) && stated == 0) {
    dtype = DType::unknown;
  }
  return as_first(call, dtype);
}

bool dequantize_linear(OnnxOpCall& call) {
  DType dtype = DType::float32;
  const std::int64_t stated = call.integer("output_dtype", 0);
  const OnnxType* scale = call.tensor_input(1);
  if (call.opset() >= 19 || !call.domain().empty()) {
    dtype = scale != nullptr ? scale->dtype : DType::unknown;
  }
  if (stated != 0) dtype = dtype_from_onnx(stated);
  return as_first(call, dtype);
}

bool constant(OnnxOpCall& call) {
  for (const OnnxAttribute& attribute : call.node().attributes) {
    const OnnxAttribute* value = call.attribute(attribute.name);
    if (value == nullptr || value->tensors.empty()) continue;
    std::vector<OnnxDim> dims;
    for (const std::int64_t dim : value->tensors[0].dims) dims.push_back(fixed_dim(dim));
    call.outputs[0] = onnx_tensor_type(value->tensors[0].dtype, std::move(dims));
    return true;
  }
  for (const OnnxAttribute& attribute : call.node().attributes) {
    const OnnxAttribute* bound = call.attribute(attribute.name);
    if (bound == nullptr) continue;
    const OnnxAttributeValue value = decode_onnx_attribute(*bound);
    const auto list_of = [](std::size_t size) {
      return std::vector<OnnxDim>{fixed_dim(static_cast<std::int64_t>(size))};
    };
    switch (value.type) {
      case AttributeType::integer:
        call.outputs[0] = onnx_tensor_type(DType::int64, {});
        return true;
      case AttributeType::integers:
        call.outputs[0] = onnx_tensor_type(DType::int64, list_of(value.integers.size()));
        return true;
      case AttributeType::real:
        call.outputs[0] = onnx_tensor_type(DType::float32, {});
        return true;
      case AttributeType::reals:
        call.outputs[0] = onnx_tensor_type(DType::float32, list_of(value.reals.size()));
        return true;
      case AttributeType::string:
        call.outputs[0] = onnx_tensor_type(DType::string, {});
        return true;
      case AttributeType::strings:
        call.outputs[0] = onnx_tensor_type(DType::string, list_of(value.strings.size()));
        return true;
      default:
        break;
    }
  }
  return false;
}

constexpr std::array<OnnxShapeRuleEntry, 24> kElementwiseRules = {{
    {"", "BitwiseNot", same_as_first},
    {"", "Celu", same_as_first},
    {"", "CumProd", same_as_first},
    {"", "Gelu", same_as_first},
    {"", "GroupNormalization", same_as_first},
    {"", "MeanVarianceNormalization", same_as_first},
    {"", "Mish", same_as_first},
    {"", "RotaryEmbedding", same_as_first},
    {"", "SwiGLU", same_as_first},
    {"", "Swish", same_as_first},
    {"", "TensorScatter", same_as_first},
    {"", "BitwiseAnd", broadcast_same_dtype},
    {"", "BitwiseOr", broadcast_same_dtype},
    {"", "BitwiseXor", broadcast_same_dtype},
    {"", "StringConcat", broadcast_same_dtype},
    {"", "GreaterOrEqual", broadcast_to_bool},
    {"", "LessOrEqual", broadcast_to_bool},
    {"", "RegexFullMatch", as_first_to_bool},
    {"", "Cast", cast},
    {"", "CastLike", cast_like},
    {"", "BitCast", bit_cast},
    {"", "QuantizeLinear", quantize_linear},
    {"", "DequantizeLinear", dequantize_linear},
    {"", "Constant", constant},
}};

}  // namespace

// ---- reshape ----
//
// Operators that take a shape, axes or sizes as input. The library gives up the rank unless such an
// input is completely known; these rules infer each dim that they can.

namespace {

using Shape = std::vector<OnnxDim>;
using Integers = std::vector<std::int64_t>;

// A list of integers that is an input: its elements, each known or not.
const std::vector<OnnxElement>* list_input(const OnnxOpCall& call, std::size_t i) {
  const OnnxElements* list = call.elements(i);
  if (list == nullptr || list->is_real() || list->dims.size() > 1) return nullptr;
  return &list->integers;
}

bool same_dtype_unknown_shape(OnnxOpCall& call) {
  if (const OnnxType* from = call.tensor_input(0)) call.outputs[0] = onnx_tensor_type(from->dtype);
  return true;
}

// ---- Reshape ----

// A number of elements as fixed factors, symbolic ones, and whether any factor is unknown.
struct Factors {
  std::int64_t fixed = 1;
  std::vector<std::string> names;
  bool is_known = true;

  void multiply(const OnnxDim& dim) {
    if (dim.is_fixed()) {
      is_known = is_known && !__builtin_mul_overflow(fixed, dim.size, &fixed);
    } else if (dim.name.empty()) {
      is_known = false;
    } else {
      names.push_back(dim.name);
    }
  }
};

// The dim that makes both products equal: `all` = `others` times the dim.
OnnxDim missing_dim(Factors all, const Factors& others) {
  if (!all.is_known || !others.is_known || others.fixed == 0) return {};
  for (const std::string& name : others.names) {
    const auto same = std::ranges::find(all.names, name);
    if (same == all.names.end()) return {};
    all.names.erase(same);
  }
  if (all.fixed % others.fixed != 0) return {};
  const std::int64_t rest = all.fixed / others.fixed;
  if (all.names.empty()) return fixed_dim(rest);
  if (all.names.size() == 1 && rest == 1) return {.size = -1, .name = all.names[0]};
  return {};
}

Shape reshaped(const OnnxOpCall& call, const std::vector<OnnxElement>& target) {
  const OnnxType* from = call.shaped_input(0);
  const bool zero_copies = call.integer("allowzero", 0) == 0;
  Factors all, others;
  std::vector<bool> is_copied(from != nullptr ? from->rank() : 0);
  Shape out;
  std::size_t left_out = target.size();  // position of -1
  for (std::size_t i = 0; i < target.size(); ++i) {
    const bool copies = target[i].value == 0 && zero_copies;
    if (copies) {
      const bool is_there = i < is_copied.size();
      out.push_back(is_there ? from->dims[i] : OnnxDim{});
      if (is_there) is_copied[i] = true;
      continue;
    }
    if (target[i].value == -1) left_out = i;
    out.push_back(dim_of(target[i]));
    if (target[i].value != -1) others.multiply(out.back());
  }
  if (left_out == target.size() || from == nullptr) return out;
  for (std::size_t i = 0; i < from->rank(); ++i) {
    if (!is_copied[i]) all.multiply(from->dims[i]);
  }
  out[left_out] = missing_dim(std::move(all), others);
  return out;
}

bool reshape(OnnxOpCall& call) {
  same_dtype_unknown_shape(call);
  if (call.opset() < 5) {
    const auto shape = call.integer_list("shape");
    if (!shape) return true;
    std::vector<OnnxElement> target;
    for (const std::int64_t size : *shape) target.push_back({.value = size, .name = {}});
    call.outputs[0].set_shape(reshaped(call, target));
  } else if (const auto* target = list_input(call, 1)) {
    call.outputs[0].set_shape(reshaped(call, *target));
  }
  return call.tensor_input(0) != nullptr;
}

// ---- Expand, ConstantOfShape, Tile ----

OnnxDim expanded_dim(const OnnxDim& from, const OnnxElement& to) {
  if (to.value && *to.value < 0) return {};
  return broadcast_dim(from, dim_of(to));
}

bool expand(OnnxOpCall& call) {
  same_dtype_unknown_shape(call);
  const OnnxType* from = call.shaped_input(0);
  const auto* target = list_input(call, 1);
  if (from == nullptr || target == nullptr) return call.tensor_input(0) != nullptr;
  Shape out(std::max(from->rank(), target->size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from_end = out.size() - i;
    const bool is_old = from_end <= from->rank();
    const OnnxDim old = is_old ? from->dims[from->rank() - from_end] : fixed_dim(1);
    out[i] =
        from_end <= target->size() ? expanded_dim(old, (*target)[target->size() - from_end]) : old;
  }
  return give_shape(call, std::move(out));
}

bool constant_of_shape(OnnxOpCall& call) {
  DType dtype = DType::float32;
  if (const OnnxAttribute* value = call.attribute("value")) {
    if (!value->tensors.empty()) dtype = value->tensors[0].dtype;
  }
  call.outputs[0] = onnx_tensor_type(dtype);
  if (const auto* target = list_input(call, 0)) {
    Shape out;
    for (const OnnxElement& element : *target) out.push_back(dim_of(element));
    call.outputs[0].set_shape(std::move(out));
  }
  return true;
}

bool tile(OnnxOpCall& call) {
  if (call.opset() < 6) return false;
  same_dtype_unknown_shape(call);
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr) return true;
  const auto* repeats = list_input(call, 1);
  Shape out(from->rank());
  if (repeats != nullptr && repeats->size() == out.size()) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = product_of(from->dims[i], dim_of((*repeats)[i]));
    }
  }
  return give_shape(call, std::move(out));
}

// ---- Slice ----

// A cut of one axis: what is known of start, end and step.
struct Cut {
  OnnxElement start, end;
  OnnxElement step = {.value = 1, .name = {}};
};

OnnxDim cut_dim(const OnnxDim& dim, const Cut& cut) {
  constexpr std::int64_t kFar = INT32_MAX;  // beyond any end, as exporters write it
  const bool is_plain = cut.start.value == 0 && cut.step.value == 1;
  const bool is_whole = cut.end.value && *cut.end.value >= kFar;
  const bool is_named = !dim.name.empty() && cut.end.name == dim.name && !cut.end.value;
  if (is_plain && (is_whole || is_named)) return dim;
  if (!dim.is_fixed() || !cut.start.value || !cut.end.value || !cut.step.value) return {};
  const auto range = slice_range(dim.size, *cut.start.value, *cut.end.value, *cut.step.value);
  return range ? fixed_dim(range->count) : OnnxDim{};
}

struct SliceInputs {
  std::vector<OnnxElement> starts, ends, axes, steps;
};

std::vector<OnnxElement> elements_of(const Integers& values) {
  std::vector<OnnxElement> out;
  for (const std::int64_t value : values) out.push_back({.value = value, .name = {}});
  return out;
}

// nullopt when the length of a list, or the axes, are unknown.
std::optional<SliceInputs> slice_inputs(const OnnxOpCall& call) {
  SliceInputs out;
  if (call.opset() < 10) {
    out.starts = elements_of(call.integer_list("starts").value_or(Integers{}));
    out.ends = elements_of(call.integer_list("ends").value_or(Integers{}));
    out.axes = elements_of(call.integer_list("axes").value_or(Integers{}));
  } else {
    const std::array<std::vector<OnnxElement>*, 4> lists = {&out.starts, &out.ends, &out.axes,
                                                            &out.steps};
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!call.has_input(i + 1)) continue;
      const auto* list = list_input(call, i + 1);
      if (list == nullptr) return std::nullopt;
      *lists[i] = *list;
    }
  }
  for (std::size_t i = out.axes.size(); out.axes.size() < out.starts.size(); ++i) {
    if (i != out.axes.size() || call.has_input(3)) return std::nullopt;
    out.axes.push_back({.value = static_cast<std::int64_t>(i), .name = {}});
  }
  if (out.steps.empty()) out.steps.resize(out.starts.size(), {.value = 1, .name = {}});
  const bool fits = out.ends.size() == out.starts.size() && out.axes.size() == out.starts.size() &&
                    out.steps.size() == out.starts.size();
  return fits ? std::optional(std::move(out)) : std::nullopt;
}

bool slice(OnnxOpCall& call) {
  same_dtype_unknown_shape(call);
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr) return true;
  Shape out = from->dims;
  const std::optional<SliceInputs> inputs = slice_inputs(call);
  bool is_sure = inputs.has_value();
  for (std::size_t i = 0; is_sure && i < inputs->axes.size(); ++i) {
    const auto axis =
        inputs->axes[i].value ? axis_of(*inputs->axes[i].value, out.size()) : std::nullopt;
    is_sure = axis.has_value();
    if (is_sure) {
      out[*axis] =
          cut_dim(from->dims[*axis], {inputs->starts[i], inputs->ends[i], inputs->steps[i]});
    }
  }
  if (!is_sure) {
    // Axes may be known even when the number of starts and ends is not.
    const auto axes = call.opset() >= 10 ? call.integers(3) : std::nullopt;
    out = axes ? from->dims : Shape(from->rank());
    for (const std::int64_t i : axes.value_or(Integers{})) {
      if (const auto axis = axis_of(i, out.size())) out[*axis] = {};
    }
  }
  return give_shape(call, std::move(out));
}

// ---- Pad ----

bool pad(OnnxOpCall& call) {
  if (call.opset() < 11) return false;
  same_dtype_unknown_shape(call);
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr) return true;
  Shape out(from->rank());
  const auto* pads = list_input(call, 1);
  std::optional<Integers> axes = call.integers(3);
  if (!axes && !call.has_input(3)) {
    axes.emplace();
    for (std::size_t i = 0; i < from->rank(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (axes) out = from->dims;
  for (std::size_t i = 0; axes && i < axes->size(); ++i) {
    const auto axis = axis_of((*axes)[i], out.size());
    if (!axis) return false;
    const bool is_known = pads != nullptr && pads->size() == 2 * axes->size() && (*pads)[i].value &&
                          (*pads)[i + axes->size()].value;
    std::int64_t both = 0;
    const bool fits = is_known && !__builtin_add_overflow(*(*pads)[i].value,
                                                          *(*pads)[i + axes->size()].value, &both);
    const bool is_zero = fits && *(*pads)[i].value == 0 && both == 0;
    out[*axis] = is_zero                                ? from->dims[*axis]
                 : fits && from->dims[*axis].is_fixed() ? dim_plus(from->dims[*axis], both)
                                                        : OnnxDim{};
  }
  return give_shape(call, std::move(out));
}

// ---- Range, Split, NonZero ----

std::optional<double> range_count(const OnnxOpCall& call) {
  constexpr double kExact = 4e15;     // doubles represent all integers below it
  std::array<double, 3> arguments{};  // start, limit, delta
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const OnnxElements* known = call.elements(i);
    if (known == nullptr || known->count() != 1) return std::nullopt;
    if (known->is_real()) {
      arguments[i] = known->reals[0];
    } else if (known->integers[0].value) {
      arguments[i] = static_cast<double>(*known->integers[0].value);
    } else {
      return std::nullopt;
    }
  }
  for (const double argument : arguments) {
    if (!(std::fabs(argument) < kExact)) return std::nullopt;
  }
  if (arguments[2] == 0) return std::nullopt;
  double length = arguments[1] - arguments[0];
  // Runtimes subtract in the elements' type.
  if (call.elements(0)->dtype == DType::float32) length = double{static_cast<float>(length)};
  const double count = std::ceil(length / arguments[2]);
  return count < kExact ? std::optional(std::max(count, 0.0)) : std::nullopt;
}

bool range(OnnxOpCall& call) {
  const OnnxType* start = call.tensor_input(0);
  if (start == nullptr) return false;
  OnnxDim dim;
  const OnnxElements* limit = call.elements(1);
  if (const std::optional<double> count = range_count(call)) {
    dim = fixed_dim(static_cast<std::int64_t>(*count));
  } else if (call.integers(0) == Integers{0} && call.integers(2) == Integers{1} &&
             limit != nullptr && limit->integers.size() == 1) {
    dim = dim_of(limit->integers[0]);
  }
  call.outputs[0] = onnx_tensor_type(start->dtype, {dim});
  return true;
}

// Sizes of the parts along the axis, if known.
Shape split_sizes(const OnnxOpCall& call, const OnnxDim& whole) {
  const std::size_t count = call.outputs.size();
  const auto parts = static_cast<std::int64_t>(count);
  Shape sizes(count);
  if (call.has_input(1)) {
    const auto* given = list_input(call, 1);
    for (std::size_t i = 0; given != nullptr && given->size() == count && i < count; ++i) {
      sizes[i] = dim_of((*given)[i]);
    }
    return sizes;
  }
  if (!whole.is_fixed() || (call.opset() < 18 && whole.size % parts != 0)) return sizes;
  const std::int64_t each = whole.size / parts + (whole.size % parts != 0 ? 1 : 0);
  std::int64_t left = whole.size;
  for (OnnxDim& size : sizes) {
    size = fixed_dim(std::clamp<std::int64_t>(left, 0, each));
    left -= each;
  }
  return sizes;
}

bool split(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (call.opset() < 13 || from == nullptr) return false;
  for (OnnxType& out : call.outputs) out = onnx_tensor_type(from->dtype);
  if (!from->has_shape) return true;
  const auto axis = axis_of(call.integer("axis", 0), from->rank());
  if (!axis) return true;
  const Shape sizes = split_sizes(call, from->dims[*axis]);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    call.outputs[i].set_shape(from->dims);
    call.outputs[i].dims[*axis] = sizes[i];
  }
  return true;
}

// Without axes all dims of size 1 go; the library infers that from opset 13 on only.
bool squeeze(OnnxOpCall& call) {
  const auto& inputs = call.node().inputs;
  const bool has_axes =
      call.attribute("axes") != nullptr || (inputs.size() > 1 && !inputs[1].empty());
  const OnnxType* from = call.shaped_input(0);
  if (has_axes || from == nullptr) return false;
  Shape dims;
  for (const OnnxDim& dim : from->dims) {
    if (!dim.is_fixed()) return false;
    if (dim.size != 1) dims.push_back(dim);
  }
  call.outputs[0] = onnx_tensor_type(from->dtype, std::move(dims));
  return true;
}

bool non_zero(OnnxOpCall& call) {
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr || from->rank() == 0) return false;
  call.outputs[0] =
      onnx_tensor_type(DType::int64, {fixed_dim(static_cast<std::int64_t>(from->rank())), {}});
  const OnnxElementList known = infer_elements(call);
  if (!known.empty() && known[0]) call.outputs[0].dims[1] = fixed_dim(known[0]->dims[1]);
  return true;
}

// ---- Reduce... ----

// The axes; nullopt when they are given but unknown.
std::optional<Integers> reduced_axes(const OnnxOpCall& call) {
  if (auto axes = call.integer_list("axes")) return axes;
  if (!call.has_input(1)) return Integers{};
  return call.integers(1);
}

bool reduce(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  same_dtype_unknown_shape(call);
  const bool keeps = call.integer("keepdims", 1) != 0;
  const std::optional<Integers> axes = reduced_axes(call);
  if (!from->has_shape) {
    const bool is_whole = axes && axes->empty() && call.integer("noop_with_empty_axes", 0) == 0;
    if (is_whole && !keeps) call.outputs[0].set_shape({});
    return true;
  }
  if (!axes) {
    if (keeps) call.outputs[0].set_shape(Shape(from->rank()));
    return true;
  }
  const bool is_noop = axes->empty() && call.integer("noop_with_empty_axes", 0) != 0;
  std::vector<bool> is_reduced(from->rank(), axes->empty() && !is_noop);
  for (const std::int64_t i : *axes) {
    const auto axis = axis_of(i, from->rank());
    if (!axis) return false;
    is_reduced[*axis] = true;
  }
  Shape out;
  for (std::size_t i = 0; i < from->rank(); ++i) {
    if (!is_reduced[i]) {
      out.push_back(from->dims[i]);
    } else if (keeps) {
      out.push_back(fixed_dim(1));
    }
  }
  return give_shape(call, std::move(out));
}

constexpr std::array<OnnxShapeRuleEntry, 20> kReshapeRules = {{
    {"", "Reshape", reshape},
    {"", "Expand", expand},
    {"", "ConstantOfShape", constant_of_shape},
    {"", "Tile", tile},
    {"", "Slice", slice},
    {"", "Pad", pad},
    {"", "Range", range},
    {"", "Split", split},
    {"", "Squeeze", squeeze},
    {"", "NonZero", non_zero},
    {"", "ReduceL1", reduce},
    {"", "ReduceL2", reduce},
    {"", "ReduceLogSum", reduce},
    {"", "ReduceLogSumExp", reduce},
    {"", "ReduceMax", reduce},
    {"", "ReduceMean", reduce},
    {"", "ReduceMin", reduce},
    {"", "ReduceProd", reduce},
    {"", "ReduceSum", reduce},
    {"", "ReduceSumSquare", reduce},
}};

}  // namespace

// ---- resize ----
//
// Resize, Upsample, and operators that move elements between space and depth.

namespace {

// The sizes or scales asked for, along the axes that Resize resizes.
struct Request {
  std::vector<std::size_t> axes;
  const std::vector<OnnxElement>* sizes = nullptr;  // as many as axes; or null
  const std::vector<double>* scales = nullptr;
};

// The dim times the scale, in single precision, as runtimes compute it.
OnnxDim scaled(const OnnxDim& dim, double scale) {
  if (scale == 1) return dim;
  if (!dim.is_fixed() || !(scale > 0)) return {};
  const float size = std::floor(static_cast<float>(dim.size) * static_cast<float>(scale));
  return size < 9e15F ? fixed_dim(static_cast<std::int64_t>(size)) : OnnxDim{};
}

// When the aspect ratio is kept, one scale applies to all axes: the least or the greatest.
Shape with_kept_aspect(const OnnxType& from, const Request& request, bool not_larger) {
  Shape out = from.dims;
  for (const std::size_t axis : request.axes) out[axis] = {};
  if (request.sizes == nullptr) return out;
  std::optional<float> best;
  for (std::size_t i = 0; i < request.axes.size(); ++i) {
    const OnnxDim& dim = from.dims[request.axes[i]];
    const auto size = (*request.sizes)[i].value;
    if (!size || dim.size < 1) return out;
    const float scale = static_cast<float>(*size) / static_cast<float>(dim.size);
    if (!best) best = scale;
    best = not_larger ? std::min(*best, scale) : std::max(*best, scale);
  }
  for (const std::size_t axis : request.axes) {
    const float size = *best * static_cast<float>(from.dims[axis].size);
    const bool is_clear = std::fabs(size - std::floor(size) - 0.5F) > 1e-3F;
    if (is_clear && size < 9e15F) out[axis] = fixed_dim(std::llround(size));
  }
  return out;
}

Shape resized(const OnnxOpCall& call, const OnnxType& from, const Request& request) {
  const std::string_view policy = call.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "not_larger" || policy == "not_smaller") {
    return with_kept_aspect(from, request, policy == "not_larger");
  }
  // In this mode the scale applies to the region, which is a separate input.
  const bool is_cropped = call.text("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  Shape out = from.dims;
  for (std::size_t i = 0; i < request.axes.size(); ++i) {
    const std::size_t axis = request.axes[i];
    if (request.sizes != nullptr) {
      out[axis] = dim_of((*request.sizes)[i]);
    } else if (request.scales != nullptr && !is_cropped) {
      out[axis] = scaled(from.dims[axis], (*request.scales)[i]);
    } else {
      out[axis] = {};
    }
  }
  return out;
}

// All axes, or those that the attribute names; nullopt when one of those does not exist.
std::optional<std::vector<std::size_t>> resized_axes(const OnnxOpCall& call, std::size_t rank) {
  std::vector<std::size_t> out;
  if (const auto given = call.integer_list("axes")) {
    for (const std::int64_t i : *given) {
      const auto axis = axis_of(i, rank);
      if (!axis) return std::nullopt;
      out.push_back(*axis);
    }
    return out;
  }
  for (std::size_t i = 0; i < rank; ++i) out.push_back(i);
  return out;
}

bool resize(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr || call.opset() < 10) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (!from->has_shape) return true;
  auto axes = resized_axes(call, from->rank());
  if (!axes) return true;
  Request request{.axes = *std::move(axes)};
  const OnnxElements* sizes = call.opset() < 11 ? nullptr : call.elements(3);
  const OnnxElements* scales = call.elements(call.opset() < 11 ? 1 : 2);
  if (sizes != nullptr && sizes->integers.size() == request.axes.size()) {
    request.sizes = &sizes->integers;
  } else if (scales != nullptr && scales->reals.size() == request.axes.size()) {
    request.scales = &scales->reals;
  }
  return give_shape(call, resized(call, *from, request));
}

bool upsample(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr || call.opset() < 7) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (!from->has_shape) return true;
  std::optional<std::vector<double>> scales = call.real_list("scales");
  const OnnxElements* given = call.opset() >= 9 ? call.elements(1) : nullptr;
  if (given != nullptr && given->is_real()) scales = given->reals;
  Shape out(from->rank());
  for (std::size_t i = 0; scales && scales->size() == out.size() && i < out.size(); ++i) {
    out[i] = scaled(from->dims[i], (*scales)[i]);
  }
  return give_shape(call, std::move(out));
}

// The length of each side of a block; nullopt when it is not a valid size.
std::optional<std::int64_t> block_size(const OnnxOpCall& call) {
  // Its square divides the channels, or multiplies them: 2^32 times a dim of 31 bits fits 64.
  constexpr std::int64_t kMost = 65536;
  const std::int64_t size = call.integer("blocksize", 0);
  return 1 <= size && size <= kMost ? std::optional(size) : std::nullopt;
}

// Which axes of [N, C, H, W] grow: those of space as the channels shrink, or the other way round.
enum class BlockMove { depth_to_space, space_to_depth };

// depth_to_space: [N, C / block^2, H * block, W * block]; space_to_depth is its inverse.
template <BlockMove move>
bool move_blocks(OnnxOpCall& call) {
  const OnnxType* from = take_dtype(call);
  if (from == nullptr) return false;
  if (!from->has_shape || from->rank() != 4) return true;
  Shape out(4);
  out[0] = from->dims[0];
  if (const auto block = block_size(call)) {
    constexpr bool kGrowsSpace = move == BlockMove::depth_to_space;
    const auto channels = kGrowsSpace ? dim_over : dim_times;
    const auto side = kGrowsSpace ? dim_times : dim_over;
    out[1] = channels(from->dims[1], *block * *block);
    out[2] = side(from->dims[2], *block);
    out[3] = side(from->dims[3], *block);
  }
  return give_shape(call, std::move(out));
}

constexpr std::array<OnnxShapeRuleEntry, 4> kResizeRules = {{
    {"", "DepthToSpace", move_blocks<BlockMove::depth_to_space>},
    {"", "SpaceToDepth", move_blocks<BlockMove::space_to_depth>},
    {"", "Resize", resize},
    {"", "Upsample", upsample},
}};

}  // namespace

// ---- window ----
//
// Operators that slide a window, sample or transform along spatial axes. Since the library's
// version, pools have got dilations, and their last window may no longer begin in the padding. The
// library also reads beyond the dims of convolution weights that do not fit.

namespace {

// Larger values are refused: no sum or product of these overflows.
constexpr std::int64_t kMost = INT32_MAX;

bool is_sane(const Integers& values, std::int64_t least) {
  return std::ranges::all_of(values, [least](std::int64_t v) { return least <= v && v <= kMost; });
}

// A window along each spatial axis.
struct Window {
  Integers kernel, strides, dilations, pads;  // pads: all starts, then all ends
  std::string_view auto_pad;
  bool rounds_up = false;

  std::size_t rank() const { return kernel.size(); }
  std::int64_t reach(std::size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
  bool is_same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }
};

std::optional<Window> window_of(const OnnxOpCall& call, Integers kernel) {
  const std::size_t rank = kernel.size();
  Window out{.kernel = std::move(kernel),
             .strides = call.integer_list("strides").value_or(Integers(rank, 1)),
             .dilations = call.integer_list("dilations").value_or(Integers(rank, 1)),
             .pads = call.integer_list("pads").value_or(Integers(2 * rank, 0)),
             .auto_pad = call.text("auto_pad", "NOTSET"),
             .rounds_up = call.integer("ceil_mode", 0) != 0};
  if (out.strides.empty()) out.strides.assign(rank, 1);
  if (out.dilations.empty()) out.dilations.assign(rank, 1);
  if (out.pads.empty()) out.pads.assign(2 * rank, 0);
  const bool fits =
      out.strides.size() == rank && out.dilations.size() == rank && out.pads.size() == 2 * rank;
  const bool sane = is_sane(out.kernel, 1) && is_sane(out.strides, 1) &&
                    is_sane(out.dilations, 1) && is_sane(out.pads, 0);
  return fits && sane ? std::optional(std::move(out)) : std::nullopt;
}

OnnxDim slid(const OnnxDim& dim, const Window& window, std::size_t i) {
  const std::int64_t stride = window.strides[i];
  const bool is_same = window.is_same();
  const bool is_valid = window.auto_pad == "VALID";
  if (is_same && stride == 1) return dim;
  const std::int64_t before = is_valid ? 0 : window.pads[i];
  const std::int64_t after = is_valid ? 0 : window.pads[i + window.rank()];
  const std::int64_t shrinks = window.reach(i) - 1 - before - after;
  if (!is_same && stride == 1 && shrinks == 0) return dim;
  if (!dim.is_fixed() || dim.size > INT64_MAX / 4) return {};
  if (is_same) return fixed_dim((dim.size + stride - 1) / stride);
  const std::int64_t steps = dim.size - 1 - shrinks;
  if (steps < 0) return {};
  std::int64_t count = steps / stride + 1;
  if (window.rounds_up && steps % stride != 0) {
    if (is_valid) return {};  // the specification and runtimes disagree
    // One more window, unless it would begin in the end padding.
    if (count * stride < dim.size + before) ++count;
  }
  return fixed_dim(count);
}

bool pool(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  const auto kernel = call.integer_list("kernel_shape");
  if (from == nullptr || !kernel) return false;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    call.outputs[i] = onnx_tensor_type(i == 0 ? from->dtype : DType::int64);
  }
  const std::optional<Window> window = window_of(call, *kernel);
  if (!from->has_shape || !window || from->rank() != window->rank() + 2) return true;
  Shape out = from->dims;
  for (std::size_t i = 0; i < window->rank(); ++i) {
    // ONNX Runtime pads such a pool as if it had no dilations, so that less comes out.
    const bool is_unsure = window->is_same() && window->reach(i) != window->kernel[i];
    out[i + 2] = is_unsure ? OnnxDim{} : slid(from->dims[i + 2], *window, i);
  }
  for (OnnxType& output : call.outputs) output.set_shape(out);
  return true;
}

// The window of a convolution with those weights; nullopt when it is unknown or does not fit.
std::optional<Window> window_of_weights(const OnnxOpCall& call, const OnnxType& weights) {
  Integers kernel;
  for (std::size_t i = 2; i < weights.rank(); ++i) kernel.push_back(weights.size(i));
  if (const auto given = call.integer_list("kernel_shape")) kernel = *given;
  if (kernel.size() + 2 != weights.rank()) return std::nullopt;
  return window_of(call, std::move(kernel));
}

// x: [N, C, ...], weights: [M, C/group, kernel...] -> [N, M, ...]
bool convolve(OnnxOpCall& call, std::size_t weights_input, DType dtype) {
  const OnnxType* x = call.shaped_input(0);
  const OnnxType* weights = call.shaped_input(weights_input);
  call.outputs[0] = onnx_tensor_type(dtype);
  if (x == nullptr || x->rank() < 2) return true;
  Shape out(x->rank());
  out[0] = x->dims[0];
  if (weights != nullptr && weights->rank() == x->rank()) {
    out[1] = weights->dims[0];
    const std::optional<Window> window = window_of_weights(call, *weights);
    for (std::size_t i = 2; window && i < out.size(); ++i) {
      out[i] = slid(x->dims[i], *window, i - 2);
    }
  }
  return give_shape(call, std::move(out));
}

bool conv(OnnxOpCall& call) {
  const OnnxType* x = call.tensor_input(0);
  return x != nullptr && convolve(call, 1, x->dtype);
}

bool conv_integer(OnnxOpCall& call) { return convolve(call, 1, DType::int32); }

// Inputs: x, scale, zero point, weights, scale, zero point, then scale and zero point of the
// output.
bool quantized_conv(OnnxOpCall& call) {
  const OnnxType* zero_point = call.tensor_input(7);
  return convolve(call, 3, zero_point != nullptr ? zero_point->dtype : DType::unknown);
}

// The dim before a convolution of that stride.
OnnxDim unslid(const OnnxDim& dim, const Window& window, std::size_t i, std::int64_t padding) {
  const std::int64_t stride = window.strides[i];
  // A window shorter than its stride leaves a rest, which runtimes do not fill.
  if (window.is_same()) return window.reach(i) < stride ? OnnxDim{} : dim_times(dim, stride);
  if (!dim.is_fixed() || dim.size < 1 || dim.size > kMost) return {};
  const bool is_valid = window.auto_pad == "VALID";
  const std::int64_t pads = is_valid ? 0 : window.pads[i] + window.pads[i + window.rank()];
  return fixed_dim((dim.size - 1) * stride + window.reach(i) + padding - pads);
}

// x: [N, C, ...], weights: [C, M/group, kernel...] -> [N, M, ...]
bool conv_transpose(OnnxOpCall& call) {
  const OnnxType* x = take_dtype(call);
  const OnnxType* weights = call.shaped_input(1);
  if (x == nullptr) return false;
  if (!x->has_shape || x->rank() < 2) return true;
  const std::size_t rank = x->rank() - 2;
  Shape out(x->rank());
  out[0] = x->dims[0];
  const Integers shape = call.integer_list("output_shape").value_or(Integers());
  const Integers padding = call.integer_list("output_padding").value_or(Integers(rank, 0));
  std::optional<Window> window;
  if (weights != nullptr && weights->rank() == x->rank()) {
    out[1] = dim_times(weights->dims[1], call.integer("group", 1));
    window = window_of_weights(call, *weights);
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (shape.size() == rank) {
      out[i + 2] = fixed_dim(shape[i]);
    } else if (window && padding.size() == rank && is_sane(padding, 0)) {
      out[i + 2] = unslid(x->dims[i + 2], *window, i, padding[i]);
    }
  }
  return give_shape(call, std::move(out));
}

// [N, C * block, L] -> [N, C, image...]
bool col2im(OnnxOpCall& call) {
  const OnnxType* from = take_dtype(call);
  const OnnxElements* image = call.elements(1);
  if (from == nullptr) return false;
  if (image == nullptr || image->is_real()) return true;
  Shape out(2);
  if (from->has_shape && from->rank() == 3) {
    out[0] = from->dims[0];
    OnnxDim block = fixed_dim(1);
    for (const std::int64_t size : call.integers(2).value_or(Integers{-1})) {
      block = product_of(block, fixed_dim(size));
    }
    if (block.is_fixed()) out[1] = dim_over(from->dims[1], block.size);
  }
  for (const OnnxElement& size : image->integers) out.push_back(dim_of(size));
  return give_shape(call, std::move(out));
}

bool center_crop_pad(OnnxOpCall& call) {
  const OnnxType* from = take_dtype(call);
  if (from == nullptr) return false;
  if (!from->has_shape) return true;
  Shape out = from->dims;
  Integers axes = call.integer_list("axes").value_or(Integers{});
  for (std::size_t i = 0; call.attribute("axes") == nullptr && i < out.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const OnnxElements* sizes = call.elements(1);
  const bool is_told = sizes != nullptr && sizes->integers.size() == axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_of(axes[i], out.size());
    if (!axis) return true;
    out[*axis] = is_told ? dim_of(sizes->integers[i]) : OnnxDim{};
  }
  return give_shape(call, std::move(out));
}

// x: [N, C, ...], grid: [N, out..., k] -> [N, C, out...]
bool grid_sample(OnnxOpCall& call) {
  const OnnxType* x = take_dtype(call);
  const OnnxType* grid = call.shaped_input(1);
  if (x == nullptr) return false;
  const std::size_t rank = x->has_shape ? x->rank() : grid != nullptr ? grid->rank() : 0;
  if (rank < 3) return true;
  Shape out(rank);
  if (x->has_shape) std::copy_n(x->dims.begin(), 2, out.begin());
  for (std::size_t i = 2; grid != nullptr && grid->rank() == rank && i < rank; ++i) {
    out[i] = grid->dims[i - 1];
  }
  return give_shape(call, std::move(out));
}

// size: {N, C, spatial...} -> [N, spatial..., number of spatial dims]
bool affine_grid(OnnxOpCall& call) {
  const OnnxType* theta = take_dtype(call);
  const OnnxElements* size = call.elements(1);
  if (theta == nullptr) return false;
  if (size == nullptr || size->is_real() || size->integers.size() < 3) return true;
  Shape out{dim_of(size->integers[0])};
  for (std::size_t i = 2; i < size->integers.size(); ++i) {
    out.push_back(dim_of(size->integers[i]));
  }
  out.push_back(fixed_dim(static_cast<std::int64_t>(size->integers.size() - 2)));
  return give_shape(call, std::move(out));
}

// The axis that DFT works along: an attribute, since opset 20 an input.
std::optional<std::size_t> dft_axis(const OnnxOpCall& call, std::size_t rank) {
  if (call.opset() < 20) return axis_of(call.integer("axis", 1), rank);
  if (!call.has_input(2)) return axis_of(-2, rank);
  const auto given = call.integers(2);
  return given && given->size() == 1 ? axis_of((*given)[0], rank) : std::nullopt;
}

// Number of elements along the axis in the output.
OnnxDim dft_length(const OnnxOpCall& call, const OnnxDim& before) {
  const bool is_onesided = call.integer("onesided", 0) != 0;
  const bool is_inverse = call.integer("inverse", 0) != 0;
  OnnxDim length = before;
  if (call.has_input(1)) {
    const auto given = call.integers(1);
    length = given && given->size() == 1 ? fixed_dim((*given)[0]) : OnnxDim{};
  } else if (is_onesided && is_inverse) {
    return before.size >= 1 ? dim_times(fixed_dim(before.size - 1), 2) : OnnxDim{};
  }
  if (!is_onesided || is_inverse) return length;
  return length.is_fixed() ? fixed_dim(length.size / 2 + 1) : OnnxDim{};
}

bool dft(OnnxOpCall& call) {
  const OnnxType* from = take_dtype(call);
  if (from == nullptr) return false;
  if (!from->has_shape || from->rank() < 2) return true;
  Shape out(from->rank());
  if (const auto axis = dft_axis(call, from->rank())) {
    out = from->dims;
    out[*axis] = dft_length(call, from->dims[*axis]);
  }
  const bool is_real = call.integer("onesided", 0) != 0 && call.integer("inverse", 0) != 0;
  out.back() = fixed_dim(is_real ? 1 : 2);
  return give_shape(call, std::move(out));
}

// [batch, length, 1 or 2] -> [batch, frames, bins, 2]
bool stft(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  Shape out(4);
  out[3] = fixed_dim(2);
  OnnxDim frame;
  if (call.has_input(3)) {
    const auto given = call.integers(3);
    if (given && given->size() == 1) frame = fixed_dim((*given)[0]);
  } else if (const OnnxType* window = call.shaped_input(2)) {
    if (window->rank() == 1) frame = window->dims[0];
  }
  const bool is_onesided = call.integer("onesided", 1) != 0;
  if (frame.is_fixed()) out[2] = fixed_dim(is_onesided ? frame.size / 2 + 1 : frame.size);
  if (from->has_shape && from->rank() >= 2) {
    out[0] = from->dims[0];
    const auto step = call.integers(1);
    const std::int64_t length = from->size(1);
    const bool is_known = step && step->size() == 1 && (*step)[0] > 0 && frame.is_fixed();
    if (is_known && length >= frame.size) {
      out[1] = fixed_dim((length - frame.size) / (*step)[0] + 1);
    }
  }
  call.outputs[0] = onnx_tensor_type(from->dtype, std::move(out));
  return true;
}

// The output's shape may be given as an input.
bool max_unpool(OnnxOpCall& call) {
  const OnnxType* from = take_dtype(call);
  if (from == nullptr) return false;
  Shape out;
  if (call.has_input(2)) {
    const OnnxElements* sizes = call.elements(2);
    if (sizes == nullptr || sizes->is_real() || sizes->dims.size() != 1) return true;
    for (const OnnxElement& size : sizes->integers) out.push_back(dim_of(size));
  } else {
    const auto window = window_of(call, call.integer_list("kernel_shape").value_or(Integers()));
    if (!from->has_shape || !window || from->rank() != window->rank() + 2) return true;
    out = from->dims;
    for (std::size_t i = 0; i < window->rank(); ++i) {
      out[i + 2] = unslid(from->dims[i + 2], *window, i, 0);
    }
  }
  return give_shape(call, std::move(out));
}

constexpr std::array<OnnxShapeRuleEntry, 15> kWindowRules = {{
    {"", "AveragePool", pool},
    {"", "MaxPool", pool},
    {"", "LpPool", pool},
    {"", "Conv", conv},
    {"", "DeformConv", conv},
    {"", "ConvInteger", conv_integer},
    {"", "QLinearConv", quantized_conv},
    {"", "ConvTranspose", conv_transpose},
    {"", "Col2Im", col2im},
    {"", "CenterCropPad", center_crop_pad},
    {"", "GridSample", grid_sample},
    {"", "AffineGrid", affine_grid},
    {"", "DFT", dft},
    {"", "STFT", stft},
    {"", "MaxUnpool", max_unpool},
}};

// Domain and op as one key, so that a lookup makes no string.
struct Key {
  std::string_view domain, op;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const std::hash<std::string_view> hash;
    return hash(key.op) * 31 + hash(key.domain);
  }
};

const std::unordered_map<Key, OnnxShapeRule, KeyHash>& rules() {
  using Rules = std::span<const OnnxShapeRuleEntry>;
  static const auto kRules = [] {
    std::unordered_map<Key, OnnxShapeRule, KeyHash> all;
    for (const Rules part : {Rules(kCommonRules), Rules(kElementwiseRules), Rules(kReshapeRules),
                             Rules(kResizeRules), Rules(kWindowRules), onnx_domain_rules()}) {
      for (const auto& [domain, op, rule] : part) all.emplace(Key{domain, op}, rule);
    }
    return all;
  }();
  return kRules;
}

}  // namespace

bool infer_by_rule(OnnxOpCall& call) {
  if (call.outputs.empty()) return false;
  const auto found = rules().find(Key{call.domain(), call.op()});
  return found != rules().end() && found->second(call);
}

namespace {

// Operators with a window: the input with its size; 0: it is an attribute.
using OpInput = std::pair<std::string_view, std::size_t>;
constexpr std::array<OpInput, 6> kWindowed = {{{"Conv", 1},
                                               {"ConvInteger", 1},
                                               {"QLinearConv", 3},
                                               {"MaxPool", 0},
                                               {"AveragePool", 0},
                                               {"LpPool", 0}}};

}  // namespace

std::optional<AxisBelowWindow> axis_below_window(const OnnxNode& node,
                                                 std::span<const OnnxType* const> reads) {
  const auto windowed = std::ranges::find(kWindowed, node.op_type, &OpInput::first);
  if (windowed == kWindowed.end() || windowed->second >= reads.size()) return std::nullopt;
  std::map<std::string_view, std::vector<std::int64_t>> lists;
  for (const OnnxAttribute& attribute : node.attributes) {
    OnnxAttributeValue value = decode_onnx_attribute(attribute);
    const bool is_same = !value.strings.empty() && value.strings.front().starts_with("SAME");
    if (is_same) return std::nullopt;
    lists.emplace(attribute.name, std::move(value.integers));
  }
  std::vector<std::int64_t>& kernel = lists["kernel_shape"];
  const std::vector<OnnxDim>& dims = reads[0]->dims;
  const std::vector<OnnxDim>& weights = reads[windowed->second]->dims;
  for (std::size_t i = kernel.size() + 2; windowed->second > 0 && i < weights.size(); ++i) {
    kernel.push_back(weights[i].size);
  }
  const auto at = [&](std::string_view name, std::size_t place, std::int64_t other) {
    constexpr std::int64_t kLargest = 1 << 30;
    const auto& list = lists[name];
    return place < list.size() ? std::clamp<std::int64_t>(list[place], 0, kLargest) : other;
  };
  for (std::size_t k = 0; k < kernel.size() && k + 2 < dims.size(); ++k) {
    const std::int64_t window = (at("kernel_shape", k, 1) - 1) * at("dilations", k, 1) + 1;
    const std::int64_t pads = at("pads", k, 0) + at("pads", k + kernel.size(), 0);
    if (dims[k + 2].is_fixed() && dims[k + 2].size < window - pads) {
      return AxisBelowWindow{k + 2, pads, window};
    }
  }
  return std::nullopt;
}

}  // namespace cleave
