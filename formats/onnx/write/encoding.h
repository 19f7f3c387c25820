// Protobuf for what a writer makes anew: fields appended to a string, and the few ONNX messages
// that cleave makes itself. Everything else is copied from the model as it stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// Numbers of the fields that writers name.
namespace model_field {
enum : std::uint32_t {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kDomain = 4,
  kModelVersion = 5,
  kDocString = 6,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadataProps = 14,
  kFunctions = 25,
  kConfiguration = 26,
};
}  // namespace model_field
namespace graph_field {
enum : std::uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kDocString = 10,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kSparseInitializer = 15,
};
}  // namespace graph_field
namespace function_field {
enum : std::uint32_t {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kNode = 7,
  kOpsetImport = 9,
  kDomain = 10,
};
}  // namespace function_field
namespace node_field {
enum : std::uint32_t {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOpType = 4,
  kAttribute = 5,
  kDomain = 7,
  kMetadataProps = 9,
  kDeviceConfigurations = 10,
};
}  // namespace node_field
namespace attribute_field {
enum : std::uint32_t { kName = 1, kTensor = 5, kInts = 8, kType = 20 };
}  // namespace attribute_field
namespace tensor_field {
enum : std::uint32_t { kRawData = 9, kExternalData = 13, kDataLocation = 14 };
}  // namespace tensor_field

void put_varint(std::string& out, std::uint64_t value);
// Fields of type int32, int64 and enum.
void put_number(std::string& out, std::uint32_t field, std::int64_t value);
// Fields of type string, bytes, and messages.
void put_bytes(std::string& out, std::uint32_t field, std::string_view payload);
// What stands before a payload of `length` bytes that follows elsewhere.
void put_header(std::string& out, std::uint32_t field, std::uint64_t length);

// A StringStringEntryProto and an OperatorSetIdProto.
std::string encode_key_value(std::string_view key, std::string_view value);
std::string encode_opset(std::string_view domain, std::int64_t version);
// An AttributeProto that is a list of integers.
std::string encode_ints(std::string_view name, const std::vector<std::int64_t>& numbers);

// A ValueInfoProto; without a type when `type` is empty.
std::string encode_value_info(std::string_view name, std::string_view type);
// The TypeProto of a tensor. Without a shape where the rank is unknown: an empty one would say
// scalar.
std::string encode_tensor_type(const Graph& graph, ValueId value);

struct OnnxCall {
  std::string_view name, op, domain;
  std::vector<std::string_view> inputs, outputs;
};
// A NodeProto without attributes.
std::string encode_node(const OnnxCall& call);

}  // namespace cleave
