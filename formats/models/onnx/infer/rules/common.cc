// The operators that most nodes of a model have, answered as the library's schema functions answer
// them, but without a protocol buffer for each type: those took a third of the time to read a model.
// A call that is in any way unusual is left to the schema, which words its fault.
#include <algorithm>
#include <array>

#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {
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

constexpr std::array<OnnxShapeRuleEntry, 40> kRules = {{
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

std::span<const OnnxShapeRuleEntry> onnx_common_rules() { return kRules; }

}  // namespace cleave
