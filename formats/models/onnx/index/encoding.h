// Protobuf encoding for writers: fields appended to a string, and the few ONNX messages that cleave
// makes itself. All other messages are copied from the model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/models/onnx/index/field_numbers.h"

namespace cleave {

void put_varint(std::string& out, std::uint64_t value);
// Fields of type int32, int64 and enum.
void put_number(std::string& out, std::uint32_t field, std::int64_t value);
// Fields of type string, bytes, and messages.
void put_bytes(std::string& out, std::uint32_t field, std::string_view payload);
// Writes what precedes a payload of `length` bytes that is written separately.
void put_header(std::string& out, std::uint32_t field, std::uint64_t length);

// A StringStringEntryProto and an OperatorSetIdProto.
std::string encode_key_value(std::string_view key, std::string_view value);
std::string encode_opset(std::string_view domain, std::int64_t version);
// An AttributeProto that is a list of integers.
std::string encode_ints(std::string_view name, const std::vector<std::int64_t>& numbers);

// A ValueInfoProto; without a type when `type` is empty.
std::string encode_value_info(std::string_view name, std::string_view type);
// The TypeProto of a tensor. Without a shape when the rank is unknown: an empty one would mean
// scalar.
std::string encode_tensor_type(const Graph& graph, ValueId value);

struct OnnxCall {
  std::string_view name, op, domain;
  std::vector<std::string_view> inputs, outputs;
};
// A NodeProto without attributes.
std::string encode_node(const OnnxCall& call);

}  // namespace cleave
