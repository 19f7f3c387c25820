// Operators of domain com.microsoft, which ONNX Runtime's optimizer and quantizer insert.
#include <algorithm>
#include <array>
#include <utility>

#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {
namespace {

using Shape = std::vector<OnnxDim>;

// The shape of the first input; the dtype of input `i`, or `otherwise` if it is left out.
bool as_first_with_dtype_of(OnnxOpCall& call, std::size_t i, DType otherwise) {
  if (!same_as_first(call)) return false;
  const OnnxType* typed = call.tensor_input(i);
  call.outputs[0].dtype = typed != nullptr     ? typed->dtype
                          : !call.has_input(i) ? otherwise
                                               : DType::unknown;
  return true;
}

bool quantize_linear(OnnxOpCall& call) { return as_first_with_dtype_of(call, 2, DType::uint8); }
bool dequantize_linear(OnnxOpCall& call) { return as_first_with_dtype_of(call, 1, DType::unknown); }

// ---- normalisation, attention ----

// Further outputs: the mean, the inverse deviation (one per row), and the sum of input and skip.
bool skip_normalization(OnnxOpCall& call) {
  if (!same_as_first(call)) return false;
  OnnxType row = call.outputs[0];
  row.dtype = DType::float32;
  if (row.has_shape && !row.dims.empty()) row.dims.back() = fixed_dim(1);
  for (std::size_t i = 1; i < call.outputs.size(); ++i) {
    call.outputs[i] = i == 3 ? call.outputs[0] : row;
  }
  return true;
}

// word ids: [batch, length]; word embedding: [words, hidden]
bool embed_layer_normalization(OnnxOpCall& call) {
  const OnnxType* ids = call.tensor_input(0);
  const OnnxType* words = call.tensor_input(2);
  if (ids == nullptr || words == nullptr) return false;
  const Shape out{dim_at(ids, 0), dim_at(ids, 1), dim_at(words, 1)};
  call.outputs[0] = onnx_tensor_type(words->dtype, out);
  if (call.outputs.size() > 1) call.outputs[1] = onnx_tensor_type(DType::int32, {out[0]});
  if (call.outputs.size() > 2) call.outputs[2] = onnx_tensor_type(words->dtype, out);
  return true;
}

// x: [batch, length, hidden], weights: [hidden, 3 * hidden of q, k and v]
bool attention(OnnxOpCall& call) {
  const OnnxType* x = call.tensor_input(0);
  if (x == nullptr) return false;
  OnnxDim hidden = dim_over(dim_at(call.tensor_input(1), 1), 3);
  if (const auto sizes = call.integer_list("qkv_hidden_sizes")) {
    hidden = sizes->size() == 3 ? fixed_dim((*sizes)[2]) : OnnxDim{};
  }
  call.outputs[0] = onnx_tensor_type(x->dtype, {dim_at(x, 0), dim_at(x, 1), hidden});
  if (call.outputs.size() > 1) call.outputs[1] = onnx_tensor_type(x->dtype, Shape(5));
  return true;
}

// Attention on 8-bit integers; the scale has the output's dtype.
bool quantized_attention(OnnxOpCall& call) {
  const OnnxType* scale = call.tensor_input(3);
  if (!attention(call)) return false;
  for (OnnxType& output : call.outputs) {
    output.dtype = scale != nullptr ? scale->dtype : DType::unknown;
  }
  return true;
}

// query: [batch, length, hidden]; value: the same, or [batch, heads, length, head].
bool multi_head_attention(OnnxOpCall& call) {
  const OnnxType* query = call.tensor_input(0);
  const OnnxType* value = call.shaped_input(2);
  if (query == nullptr) return false;
  for (OnnxType& output : call.outputs) output = onnx_tensor_type(query->dtype);
  if (!query->has_shape || query->rank() != 3) return true;  // packed: [B, S, heads, 3, head]
  OnnxDim hidden;
  if (value != nullptr && value->rank() == 3) hidden = value->dims[2];
  if (value != nullptr && value->rank() == 4) hidden = product_of(value->dims[1], value->dims[3]);
  call.outputs[0].set_shape({query->dims[0], query->dims[1], hidden});
  for (std::size_t i = 1; i < call.outputs.size(); ++i) call.outputs[i].set_shape(Shape(4));
  return true;
}

// query: [batch, length, hidden], followed by packed keys and values when those are left out.
bool group_query_attention(OnnxOpCall& call) {
  const OnnxType* query = call.tensor_input(0);
  if (query == nullptr) return false;
  for (OnnxType& output : call.outputs) output = onnx_tensor_type(query->dtype);
  if (!query->has_shape || query->rank() != 3) return true;
  const std::int64_t heads = call.integer("num_heads", 0);
  const std::int64_t kv_heads = call.integer("kv_num_heads", 0);
  const bool is_sane = heads > 0 && heads < INT32_MAX && kv_heads > 0 && kv_heads < INT32_MAX;
  OnnxDim head, hidden;
  if (is_sane) {
    head = dim_over(query->dims[2], call.has_input(1) ? heads : heads + 2 * kv_heads);
    hidden = dim_times(head, heads);
  }
  if (call.has_input(1)) hidden = query->dims[2];
  call.outputs[0].set_shape({query->dims[0], query->dims[1], hidden});
  for (std::size_t i = 1; i < std::min<std::size_t>(call.outputs.size(), 3); ++i) {
    call.outputs[i].set_shape(
        {query->dims[0], is_sane ? fixed_dim(kv_heads) : OnnxDim{}, {}, head});
  }
  return true;
}

// ---- matrix products ----

// Broadcasts as numpy's matmul does.
std::optional<Shape> product_shape(Shape a, Shape b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), fixed_dim(1));
  if (is_column) b.push_back(fixed_dim(1));
  Shape out = broadcast_shape(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!is_row) out.push_back(a[a.size() - 2]);
  if (!is_column) out.push_back(b.back());
  return out;
}

bool product(OnnxOpCall& call, std::size_t left, std::size_t right, DType dtype) {
  call.outputs[0] = onnx_tensor_type(dtype);
  const OnnxType* a = call.shaped_input(left);
  const OnnxType* b = call.shaped_input(right);
  if (a == nullptr || b == nullptr) return true;
  if (auto shape = product_shape(a->dims, b->dims)) call.outputs[0].set_shape(*std::move(shape));
  return true;
}

Shape transposed(Shape dims, bool is_transposed) {
  if (is_transposed && dims.size() >= 2) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

bool fused_matmul(OnnxOpCall& call) {
  const OnnxType* a = call.tensor_input(0);
  const OnnxType* b = call.shaped_input(1);
  if (a == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(a->dtype);
  const bool moves_batch =
      call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0;
  if (!a->has_shape || b == nullptr) return true;
  auto shape = product_shape(transposed(a->dims, call.integer("transA", 0) != 0),
                             transposed(b->dims, call.integer("transB", 0) != 0));
  if (!shape) return true;
  if (moves_batch) std::fill(shape->begin(), shape->end(), OnnxDim{});
  call.outputs[0].set_shape(*std::move(shape));
  return true;
}

bool gemm(OnnxOpCall& call, std::size_t right, DType dtype) {
  const OnnxType* a = call.tensor_input(0);
  const OnnxType* b = call.tensor_input(right);
  call.outputs[0] = onnx_tensor_type(dtype, {dim_at(a, call.integer("transA", 0) != 0 ? 1 : 0),
                                             dim_at(b, call.integer("transB", 0) != 0 ? 0 : 1)});
  return true;
}

bool fused_gemm(OnnxOpCall& call) {
  const OnnxType* a = call.tensor_input(0);
  return a != nullptr && gemm(call, 1, a->dtype);
}

// Inputs: A with scale and zero point, B with both, C, and the output's scale and zero point.
// Without the last one the output is real.
bool quantized_gemm(OnnxOpCall& call) {
  const OnnxType* zero_point = call.tensor_input(8);
  return gemm(call, 3, zero_point != nullptr ? zero_point->dtype : DType::float32);
}

bool float_product(OnnxOpCall& call) {  // of a real and an integer matrix, or of two integer ones
  const OnnxType* a = call.tensor_input(0);
  if (a == nullptr) return false;
  const bool is_real = a->dtype == DType::float32 || a->dtype == DType::float16;
  return product(call, 0, 1, is_real ? a->dtype : DType::float32);
}

// [..., K] times N columns in a packed form.
bool packed_matmul(OnnxOpCall& call) {
  const OnnxType* a = call.tensor_input(0);
  if (a == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(a->dtype);
  if (!a->has_shape || a->rank() == 0) return true;
  Shape out = a->dims;
  out.back() = fixed_dim(call.integer("N", -1));
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// ---- recurrent ----

// x: [length, batch, inputs]; weights: [directions, inputs, 4 * hidden]. Gives all states, the last
// state and the last cell of each direction.
bool quantized_lstm(OnnxOpCall& call) {
  const OnnxType* x = call.tensor_input(0);
  if (x == nullptr || (x->has_shape && x->rank() != 3)) return false;
  const bool is_both = call.text("direction", "forward") == "bidirectional";
  const OnnxDim directions = fixed_dim(is_both ? 2 : 1);
  OnnxDim hidden = fixed_dim(call.integer("hidden_size", -1));
  if (!hidden.is_fixed()) hidden = dim_over(dim_at(call.tensor_input(2), 2), 4);
  const OnnxDim batch = dim_at(x, 1);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    Shape out{directions, batch, hidden};
    if (i == 0) out.insert(out.begin(), dim_at(x, 0));
    call.outputs[i] = onnx_tensor_type(x->dtype, std::move(out));
  }
  return true;
}

// ---- convolution, and operators like those of the default domain ----

bool fused_conv(OnnxOpCall& call) {
  OnnxOpCall conv = call.taken_as("Conv", 11);
  const bool is_inferred = infer_by_rule(conv);
  call.outputs = std::move(conv.outputs);
  return is_inferred;
}

bool bias_split_gelu(OnnxOpCall& call) {
  if (!same_as_first(call)) return false;
  OnnxType& out = call.outputs[0];
  if (out.has_shape && !out.dims.empty()) out.dims.back() = dim_over(out.dims.back(), 2);
  return true;
}

// Inputs: A, its scale and zero point, then B.
bool quantized_binary(OnnxOpCall& call) {
  const OnnxType* a = call.tensor_input(0);
  const OnnxType* b = call.shaped_input(3);
  if (a == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(a->dtype);
  if (a->has_shape && b != nullptr) call.outputs[0].set_shape(broadcast_shape(a->dims, b->dims));
  return true;
}

bool quantized_pool(OnnxOpCall& call) {
  if (call.integer("channels_last", 0) != 0) return false;
  OnnxOpCall pool = call.taken_as("AveragePool", 19);
  const bool is_inferred = infer_by_rule(pool);
  call.outputs = std::move(pool.outputs);
  return is_inferred;
}

bool quantized_global_pool(OnnxOpCall& call) {
  if (!same_as_first(call)) return false;
  OnnxType& out = call.outputs[0];
  const bool is_last = call.integer("channels_last", 0) != 0;
  for (std::size_t i = 1; i < out.dims.size(); ++i) {
    const bool is_channel = is_last ? i + 1 == out.dims.size() : i == 1;
    if (!is_channel) out.dims[i] = fixed_dim(1);
  }
  return true;
}

// Inputs: the output's scale and zero point, then each input with its own.
bool quantized_concat(OnnxOpCall& call) {
  const OnnxType* zero_point = call.tensor_input(1);
  call.outputs[0] = onnx_tensor_type(zero_point != nullptr ? zero_point->dtype : DType::unknown);
  Shape out;
  for (std::size_t i = 2; i < call.input_count(); i += 3) {
    const OnnxType* part = call.shaped_input(i);
    if (part == nullptr) return true;
    const auto axis = axis_of(call.integer("axis", 0), part->rank());
    if (!axis || (i > 2 && out.size() != part->rank())) return true;
    if (i == 2) {
      out = part->dims;
    } else {
      out[*axis] = sum_of(out[*axis], part->dims[*axis]);
    }
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

constexpr std::string_view kMs = "com.microsoft";
constexpr std::array<OnnxShapeRuleEntry, 43> kRules = {{
    {kMs, "Attention", attention},
    {kMs, "BiasAdd", same_as_first},
    {kMs, "BiasGelu", same_as_first},
    {kMs, "BiasSoftmax", same_as_first},
    {kMs, "BiasSplitGelu", bias_split_gelu},
    {kMs, "DequantizeLinear", dequantize_linear},
    {kMs, "DynamicQuantizeLSTM", quantized_lstm},
    {kMs, "DynamicQuantizeMatMul", float_product},
    {kMs, "EmbedLayerNormalization", embed_layer_normalization},
    {kMs, "FastGelu", same_as_first},
    {kMs, "FusedConv", fused_conv},
    {kMs, "FusedGemm", fused_gemm},
    {kMs, "FusedMatMul", fused_matmul},
    {kMs, "Gelu", same_as_first},
    {kMs, "GemmFastGelu", float_product},
    {kMs, "GroupNorm", same_as_first},
    {kMs, "GroupQueryAttention", group_query_attention},
    {kMs, "Inverse", same_as_first},
    {kMs, "MatMulBnb4", packed_matmul},
    {kMs, "MatMulIntegerToFloat", float_product},
    {kMs, "MatMulNBits", packed_matmul},
    {kMs, "MoE", same_as_first},
    {kMs, "MultiHeadAttention", multi_head_attention},
    {kMs, "QAttention", quantized_attention},
    {kMs, "QGemm", quantized_gemm},
    {kMs, "QLinearAdd", quantized_binary},
    {kMs, "QLinearAveragePool", quantized_pool},
    {kMs, "QLinearConcat", quantized_concat},
    {kMs, "QLinearGlobalAveragePool", quantized_global_pool},
    {kMs, "QLinearLeakyRelu", same_as_first},
    {kMs, "QLinearMul", quantized_binary},
    {kMs, "QLinearSigmoid", same_as_first},
    {kMs, "QLinearSoftmax", same_as_first},
    {kMs, "QMoE", same_as_first},
    {kMs, "QuantizeLinear", quantize_linear},
    {kMs, "QuickGelu", same_as_first},
    {kMs, "RotaryEmbedding", same_as_first},
    {kMs, "SimplifiedLayerNormalization", same_as_first},
    {kMs, "SkipGroupNorm", same_as_first},
    {kMs, "SkipLayerNormalization", skip_normalization},
    {kMs, "SkipSimplifiedLayerNormalization", skip_normalization},
    {"", "SimplifiedLayerNormalization", same_as_first},
    {kMs, "Trilu", same_as_first},
}};

}  // namespace

std::span<const OnnxShapeRuleEntry> onnx_microsoft_rules() { return kRules; }

}  // namespace cleave
