// Shapes that operators of other domains, and new ones, give.

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "core/base/words.h"

#include "formats/onnx/infer/rules.h"

namespace cleave {

// ---- microsoft ----
//
// Operators of domain com.microsoft, which ONNX Runtime's optimizer and quantizer insert.

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

// ---- normalisation, microsoft_attention ----

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
bool microsoft_attention(OnnxOpCall& call) {
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
  if (!microsoft_attention(call)) return false;
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
  const OnnxType* a = take_dtype(call);
  const OnnxType* b = call.shaped_input(1);
  if (a == nullptr) return false;
  const bool moves_batch =
      call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0;
  if (!a->has_shape || b == nullptr) return true;
  auto shape = product_shape(transposed(a->dims, call.integer("transA", 0) != 0),
                             transposed(b->dims, call.integer("transB", 0) != 0));
  if (!shape) return true;
  if (moves_batch) std::fill(shape->begin(), shape->end(), OnnxDim{});
  return give_shape(call, *std::move(shape));
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
  const OnnxType* a = take_dtype(call);
  if (a == nullptr) return false;
  if (!a->has_shape || a->rank() == 0) return true;
  Shape out = a->dims;
  out.back() = fixed_dim(call.integer("N", -1));
  return give_shape(call, std::move(out));
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
  const OnnxType* a = take_dtype(call);
  const OnnxType* b = call.shaped_input(3);
  if (a == nullptr) return false;
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
  return give_shape(call, std::move(out));
}

}  // namespace

// ---- ml ----
//
// Operators of domain ai.onnx.ml: [N, features] in, [N, targets] out.

namespace {

// The batch size N. For one sample without a batch dim, runtimes disagree.
OnnxDim batch_of(const OnnxOpCall& call) {
  const OnnxType* from = call.shaped_input(0);
  return from != nullptr && from->rank() == 2 ? from->dims[0] : OnnxDim{};
}

bool as_first_to_float(OnnxOpCall& call) {
  if (!same_as_first(call)) return false;
  call.outputs[0].dtype = DType::float32;
  return true;
}

// The last axis is picked from; a vector is one row.
bool array_feature_extractor(OnnxOpCall& call) {
  const OnnxType* from = take_dtype(call);
  const OnnxType* indices = call.shaped_input(1);
  if (from == nullptr) return false;
  if (!from->has_shape || from->rank() == 0) return true;
  Shape out = from->dims;
  if (out.size() == 1) out.insert(out.begin(), fixed_dim(1));
  out.back() = indices != nullptr ? fixed_dim(1) : OnnxDim{};
  for (std::size_t i = 0; indices != nullptr && i < indices->rank(); ++i) {
    out.back() = product_of(out.back(), indices->dims[i]);
  }
  return give_shape(call, std::move(out));
}

// The dtype is that of the value list that is given.
bool label_encoder(OnnxOpCall& call) {
  static constexpr std::array<std::pair<std::string_view, DType>, 3> kValues = {
      {{"values_strings", DType::string},
       {"values_int64s", DType::int64},
       {"values_floats", DType::float32}}};
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  DType dtype = DType::unknown;
  for (const auto& [name, values_dtype] : kValues) {
    if (call.attribute(name) != nullptr) dtype = values_dtype;
  }
  const OnnxAttribute* tensor = call.attribute("values_tensor");
  if (tensor != nullptr && !tensor->tensors.empty()) dtype = tensor->tensors[0].dtype;
  if (call.attribute("classes_strings") != nullptr) {  // version 1: between string and int64
    dtype = from->dtype == DType::string ? DType::int64 : DType::string;
  }
  call.outputs[0] = *from;
  call.outputs[0].dtype = dtype;
  return true;
}

OnnxDim targets(const OnnxOpCall& call, std::string_view attribute) {
  return fixed_dim(call.integer(attribute, 1));
}

bool tree_ensemble(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype, {batch_of(call), targets(call, "n_targets")});
  return true;
}

bool tree_regressor(OnnxOpCall& call) {
  call.outputs[0] = onnx_tensor_type(DType::float32, {batch_of(call), targets(call, "n_targets")});
  return true;
}

bool linear_regressor(OnnxOpCall& call) {
  call.outputs[0] = onnx_tensor_type(DType::float32, {batch_of(call), targets(call, "targets")});
  return true;
}

bool svm_regressor(OnnxOpCall& call) {
  call.outputs[0] = onnx_tensor_type(DType::float32, {batch_of(call), fixed_dim(1)});
  return true;
}

// Outputs: the class of each sample, and its scores. With two classes, runtimes disagree on the
// number of scores.
bool classifier(OnnxOpCall& call) {
  const bool has_names = call.attribute("classlabels_strings") != nullptr;
  call.outputs[0] = onnx_tensor_type(has_names ? DType::string : DType::int64, {batch_of(call)});
  if (call.outputs.size() > 1) {
    call.outputs[1] = onnx_tensor_type(DType::float32, {batch_of(call), {}});
  }
  return true;
}

bool feature_vectorizer(OnnxOpCall& call) {
  OnnxDim width = fixed_dim(0);
  for (const std::int64_t size :
       call.integer_list("inputdimensions").value_or(std::vector<std::int64_t>{-1})) {
    width = sum_of(width, fixed_dim(size));
  }
  call.outputs[0] = onnx_tensor_type(DType::float32, {batch_of(call), width});
  return true;
}

}  // namespace

// ---- new ops ----
//
// Operators that are newer than the ONNX library, and a few that it leaves without a type.

namespace {

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
  const OnnxType* query = take_dtype(call);
  if (query == nullptr) return false;
  if (!query->has_shape || query->rank() != 4) return true;
  Shape out = query->dims;
  out[3] = dim_at(call.tensor_input(2), 3);
  return give_shape(call, std::move(out));
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
  return give_shape(call, std::move(out));
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
  const OnnxType* from = take_dtype(call);
  if (from == nullptr) return false;
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
      if (!is_letter(term[i])) return false;
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

constexpr std::string_view kMs = "com.microsoft";
constexpr std::string_view kMl = "ai.onnx.ml";
constexpr std::array<OnnxShapeRuleEntry, 71> kRules = {{
    {kMs, "Attention", microsoft_attention},
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
    {kMl, "ArrayFeatureExtractor", array_feature_extractor},
    {kMl, "Binarizer", same_as_first},
    {kMl, "FeatureVectorizer", feature_vectorizer},
    {kMl, "Imputer", same_as_first},
    {kMl, "LabelEncoder", label_encoder},
    {kMl, "LinearClassifier", classifier},
    {kMl, "LinearRegressor", linear_regressor},
    {kMl, "Normalizer", as_first_to_float},
    {kMl, "SVMClassifier", classifier},
    {kMl, "SVMRegressor", svm_regressor},
    {kMl, "Scaler", as_first_to_float},
    {kMl, "TreeEnsemble", tree_ensemble},
    {kMl, "TreeEnsembleClassifier", classifier},
    {kMl, "TreeEnsembleRegressor", tree_regressor},
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

std::span<const OnnxShapeRuleEntry> onnx_domain_rules() { return kRules; }

}  // namespace cleave
