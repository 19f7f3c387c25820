#include "formats/models/onnx/index/encoding.h"

namespace cleave {

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

void put_number(std::string& out, std::uint32_t field, std::int64_t value) {
  put_varint(out, std::uint64_t{field} << 3U);
  put_varint(out, static_cast<std::uint64_t>(value));
}

void put_header(std::string& out, std::uint32_t field, std::uint64_t length) {
  constexpr std::uint64_t kLengthDelimited = 2;
  put_varint(out, std::uint64_t{field} << 3U | kLengthDelimited);
  put_varint(out, length);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view payload) {
  put_header(out, field, payload.size());
  out.append(payload);
}

std::string encode_key_value(std::string_view key, std::string_view value) {
  std::string out;
  put_bytes(out, 1, key);
  put_bytes(out, 2, value);
  return out;
}

std::string encode_opset(std::string_view domain, std::int64_t version) {
  std::string out;
  put_bytes(out, 1, domain);
  put_number(out, 2, version);
  return out;
}

std::string encode_ints(std::string_view name, const std::vector<std::int64_t>& numbers) {
  constexpr std::int64_t kIntsType = 7;
  std::string out;
  put_bytes(out, attribute_field::kName, name);
  for (const std::int64_t number : numbers) put_number(out, attribute_field::kInts, number);
  put_number(out, attribute_field::kType, kIntsType);
  return out;
}

std::string encode_value_info(std::string_view name, std::string_view type) {
  std::string out;
  put_bytes(out, 1, name);
  if (!type.empty()) put_bytes(out, 2, type);
  return out;
}

namespace {

std::string encode_dim(const Graph& graph, Dim dim) {
  std::string out;
  if (dim.is_fixed()) put_number(out, 1, dim.size());
  if (dim.is_symbol()) put_bytes(out, 2, graph.text(dim.name()));
  return out;
}

std::string encode_shape(const Graph& graph, Shape shape) {
  std::string out;
  for (const Dim dim : shape) put_bytes(out, 1, encode_dim(graph, dim));
  return out;
}

}  // namespace

std::string encode_tensor_type(const Graph& graph, ValueId value) {
  std::string tensor;
  put_number(tensor, 1, static_cast<std::int64_t>(graph.value(value).dtype));
  if (graph.has_rank(value)) put_bytes(tensor, 2, encode_shape(graph, graph.shape(value)));
  std::string out;
  put_bytes(out, 1, tensor);
  return out;
}

std::string encode_node(const OnnxCall& call) {
  std::string out;
  for (const std::string_view input : call.inputs) put_bytes(out, node_field::kInput, input);
  for (const std::string_view output : call.outputs) put_bytes(out, node_field::kOutput, output);
  if (!call.name.empty()) put_bytes(out, node_field::kName, call.name);
  put_bytes(out, node_field::kOpType, call.op);
  if (!call.domain.empty()) put_bytes(out, node_field::kDomain, call.domain);
  return out;
}

}  // namespace cleave
