// Operators that are newer than the ONNX library, and a few that it leaves without a type.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {
namespace {

using Shape = std::vector<OnnxDim>;

OnnxDim heads(const OnnxOpCall& call, std::string_view attribute) {
  const std::int64_t count = call.integer(attribute, 0);
  return count > 0 ? fixed_dim(count) : OnnxDim{};
}

OnnxDim each_head(const OnnxDim& all, const OnnxDim& count) {
  return count.is_fixed() ? dim_over(all, count.size) : OnnxDim{};
}

// Query, key or value of an attention: [batch, heads, length, head] or [batch, length, heads*head].
struct Heads {
  OnnxDim count, length, size;
};

Heads heads_of(const OnnxOpCall& call, const OnnxType* type, std::string_view attribute) {
  if (type == nullptr || !type->has_shape) return {};
  if (type->rank() == 4) return {type->dims[1], type->dims[2], type->dims[3]};
  const OnnxDim count = heads(call, attribute);
  return {count, dim_at(type, 1), each_head(dim_at(type, 2), count)};
}

// Outputs: result, present key, present value, and the scores.
bool attention(OnnxOpCall& call) {
  const OnnxType* query = call.tensor_input(0);
  const OnnxType* key = call.tensor_input(1);
  const OnnxType* value = call.tensor_input(2);
  if (query == nullptr || key == nullptr || value == nullptr) return false;
  const std::array<DType, 4> dtypes = {query->dtype, key->dtype, value->dtype, query->dtype};
  for (std::size_t i = 0; i < call.outputs.size() && i < dtypes.size(); ++i) {
    call.outputs[i] = onnx_tensor_type(dtypes[i]);
  }
  if (!query->has_shape || (query->rank() != 3 && query->rank() != 4)) return true;
  const Heads q = heads_of(call, query, "q_num_heads");
  const Heads k = heads_of(call, key, "kv_num_heads");
  const Heads v = heads_of(call, value, "kv_num_heads");
  const OnnxDim batch = query->dims[0];
  const OnnxDim past = call.has_input(4) ? dim_at(call.input(4), 2) : fixed_dim(0);
  const OnnxDim total = sum_of(past, k.length);
  Shape out{batch, q.count, q.length, v.size};
  if (query->rank() == 3) out = {batch, q.length, product_of(q.count, v.size)};
  const std::array<Shape, 4> shapes = {out,
                                       {batch, k.count, total, k.size},
                                       {batch, v.count, total, v.size},
                                       {batch, q.count, q.length, total}};
  for (std::size_t i = 0; i < call.outputs.size() && i < shapes.size(); ++i) {
    call.outputs[i].set_shape(shapes[i]);
  }
  return true;
}

bool flex_attention(OnnxOpCall& call) {
  const OnnxType* query = call.tensor_input(0);
  if (query == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(query->dtype);
  if (!query->has_shape || query->rank() != 4) return true;
  Shape out = query->dims;
  out[3] = dim_at(call.tensor_input(2), 3);
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// [batch, length, q_heads * d_v], and the state [batch, kv_heads, d_k, d_v].
bool linear_attention(OnnxOpCall& call) {
  const OnnxType* query = call.tensor_input(0);
  if (query == nullptr) return false;
  const OnnxDim q_heads = heads(call, "q_num_heads");
  const OnnxDim kv_heads = heads(call, "kv_num_heads");
  const OnnxDim key_size = each_head(dim_at(query, 2), q_heads);
  const OnnxDim value_size = each_head(dim_at(call.tensor_input(2), 2), kv_heads);
  const OnnxDim batch = dim_at(query, 0);
  call.outputs[0] =
      onnx_tensor_type(query->dtype, {batch, dim_at(query, 1), product_of(q_heads, value_size)});
  if (call.outputs.size() > 1) {
    const OnnxType* state = call.tensor_input(3);
    call.outputs[1] = onnx_tensor_type(state != nullptr ? state->dtype : query->dtype,
                                       {batch, kv_heads, key_size, value_size});
  }
  return true;
}

// Outputs: as the input, and the last k - 1 positions for a kernel of size k.
bool causal_conv_with_state(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = *from;
  if (call.outputs.size() > 1) {
    const OnnxDim kernel = dim_at(call.tensor_input(1), 2);
    call.outputs[1] =
        onnx_tensor_type(from->dtype, {dim_at(from, 0), dim_at(from, 1),
                                       kernel.size >= 1 ? fixed_dim(kernel.size - 1) : OnnxDim{}});
  }
  return true;
}

// The shape of the first input, the dtype of the second.
bool rms_normalization(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  const OnnxType* scale = call.tensor_input(1);
  if (from == nullptr) return false;
  call.outputs[0] = *from;
  call.outputs[0].dtype = scale != nullptr ? scale->dtype : DType::unknown;
  return true;
}

// [height, width, channels], which depend on the image alone.
bool image_decoder(OnnxOpCall& call) {
  call.outputs[0] = onnx_tensor_type(DType::uint8, Shape(3));
  return true;
}

// Outputs: the parts along a new last axis, as many as the longest string has; and how many each
// string has.
bool string_split(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(DType::string);
  if (call.outputs.size() > 1) call.outputs[1] = onnx_tensor_type(DType::int64);
  if (!from->has_shape) return true;
  Shape out = from->dims;
  if (call.outputs.size() > 1) call.outputs[1].set_shape(out);
  out.emplace_back();
  call.outputs[0].set_shape(std::move(out));
  return true;
}

bool optional_has_element(OnnxOpCall& call) {
  call.outputs[0] = onnx_tensor_type(DType::boolean, Shape{});
  return true;
}

// Since opset 18 the input need not be an optional: then it is the output.
bool optional_get_element(OnnxOpCall& call) {
  const OnnxType* from = call.input(0);
  if (from == nullptr) return false;
  call.outputs[0] = from->type == ValueType::optional ? onnx_element_type(*from) : *from;
  return true;
}

// Before opset 10 the mask had the data's dtype.
bool dropout(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  for (OnnxType& output : call.outputs) output = *from;
  if (call.outputs.size() > 1 && call.opset() >= 10) call.outputs[1].dtype = DType::boolean;
  return true;
}

bool one_hot(OnnxOpCall& call) {
  const OnnxType* indices = call.shaped_input(0);
  const OnnxType* values = call.tensor_input(2);
  if (indices == nullptr || values == nullptr) return false;
  OnnxDim depth;
  if (const OnnxElements* given = call.elements(1)) {
    if (given->count() == 1 && !given->is_real()) depth = dim_of(given->integers[0]);
    if (given->count() == 1 && given->is_real() && given->reals[0] > 0 && given->reals[0] < 1e15) {
      depth = fixed_dim(static_cast<std::int64_t>(given->reals[0]));
    }
  }
  const auto axis = axis_of(call.integer("axis", -1), indices->rank() + 1);
  if (!axis) return false;
  Shape out = indices->dims;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(*axis), depth);
  call.outputs[0] = onnx_tensor_type(values->dtype, std::move(out));
  return true;
}

// The output has as many elements as the condition has true ones; without an axis they are taken
// from the flattened input.
bool compress(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  OnnxDim taken;
  if (const auto condition = call.integers(1)) {
    taken = fixed_dim(std::count_if(condition->begin(), condition->end(),
                                    [](std::int64_t value) { return value != 0; }));
  }
  if (call.attribute("axis") == nullptr) {
    call.outputs[0].set_shape({taken});
  } else if (from->has_shape) {
    const auto axis = axis_of(call.integer("axis", 0), from->rank());
    if (!axis) return true;
    call.outputs[0].set_shape(from->dims);
    call.outputs[0].dims[*axis] = taken;
  }
  return true;
}

// ---- Einsum: the library infers its rank alone ----

// The dims of an equation's indices.
class EinsumDims {
 public:
  // False when the term does not fit the shape.
  bool add(std::string_view term, const Shape& dims) {
    const std::size_t dots = term.find("...");
    const bool has_dots = dots != term.npos;
    const std::size_t letters = term.size() - (has_dots ? 3 : 0);
    if (letters > dims.size() || (!has_dots && letters != dims.size())) return false;
    const std::size_t more = dims.size() - letters;  // what the dots stand for
    if (has_dots) {
      const auto first = dims.begin() + static_cast<std::ptrdiff_t>(dots);
      more_ = broadcast_shape(more_, Shape(first, first + static_cast<std::ptrdiff_t>(more)));
    }
    for (std::size_t i = 0, axis = 0; i < term.size(); ++i, ++axis) {
      if (has_dots && i == dots) {
        i += 3;
        axis += more;
      }
      if (i == term.size()) break;
      const bool is_letter =
          (term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z');
      if (!is_letter) return false;
      ++uses_[term[i]];
      const auto [known, is_new] = dims_.emplace(term[i], dims[axis]);
      if (is_new) continue;
      const OnnxDim both = broadcast_dim(known->second, dims[axis]);
      if (!both.is_fixed() && known->second.is_fixed() && dims[axis].is_fixed()) return false;
      known->second = both;
    }
    return true;
  }

  // The shape of the term; nullopt when it has an index that no operand has.
  std::optional<Shape> shape_of(std::string_view term) const {
    Shape out;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term.substr(i, 3) == "...") {
        out.insert(out.end(), more_.begin(), more_.end());
        i += 2;
        continue;
      }
      const auto found = dims_.find(term[i]);
      if (found == dims_.end()) return std::nullopt;
      out.push_back(found->second);
    }
    return out;
  }

  // Without an output in the equation: the indices that occur once, in the order of the alphabet.
  std::string implied_term() const {
    std::string term = "...";
    for (const auto& [letter, count] : uses_) {
      if (count == 1) term += letter;
    }
    return term;
  }

 private:
  std::map<char, OnnxDim> dims_;
  std::map<char, std::size_t> uses_;
  Shape more_;
};

bool einsum(OnnxOpCall& call) {
  const OnnxType* const first = call.tensor_input(0);
  if (first == nullptr) return false;
  std::string equation(call.text("equation", ""));
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::size_t arrow = equation.find("->");
  std::string_view terms = std::string_view(equation).substr(0, arrow);
  EinsumDims indices;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const OnnxType* const operand = call.shaped_input(i);
    const std::size_t end = std::min(terms.find(','), terms.size());
    const bool is_last = end == terms.size();
    if (operand == nullptr || is_last != (i + 1 == call.input_count())) return false;
    if (!indices.add(terms.substr(0, end), operand->dims)) return false;
    terms.remove_prefix(is_last ? end : end + 1);
  }
  auto shape = indices.shape_of(arrow == equation.npos ? indices.implied_term()
                                                       : equation.substr(arrow + 2));
  if (!shape) return false;
  call.outputs[0] = onnx_tensor_type(first->dtype, *std::move(shape));
  return true;
}

constexpr std::array<OnnxShapeRuleEntry, 14> kRules = {{
    {"", "Attention", attention},
    {"", "CausalConvWithState", causal_conv_with_state},
    {"", "Compress", compress},
    {"", "Einsum", einsum},
    {"", "Dropout", dropout},
    {"", "ImageDecoder", image_decoder},
    {"", "LinearAttention", linear_attention},
    {"", "OneHot", one_hot},
    {"", "OptionalGetElement", optional_get_element},
    {"", "OptionalHasElement", optional_has_element},
    {"", "RMSNormalization", rms_normalization},
    {"", "StringSplit", string_split},
    {"ai.onnx.preview", "FlexAttention", flex_attention},
    {"", "FlexAttention", flex_attention},
}};

}  // namespace

std::span<const OnnxShapeRuleEntry> onnx_new_op_rules() { return kRules; }

}  // namespace cleave
