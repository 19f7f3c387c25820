// The field numbers of ONNX's messages, for readers and writers. Names and numbers are those of
// onnx.proto up to IR version 13.
#pragma once

#include <cstdint>

namespace cleave {

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
  kTrainingInfo = 20,
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
  kQuantizationAnnotation = 14,
  kSparseInitializer = 15,
  kMetadataProps = 16,
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
  kAttributeProto = 11,  // attributes with a default
  kValueInfo = 12,
  kOverload = 13,
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
  kOverload = 8,
  kMetadataProps = 9,
  kDeviceConfigurations = 10,
};
}  // namespace node_field

namespace attribute_field {
enum : std::uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kDocString = 13,
  kTypeProto = 14,
  kTypeProtos = 15,
  kType = 20,
  kRefAttrName = 21,
  kSparseTensor = 22,
  kSparseTensors = 23,
};
}  // namespace attribute_field

// AttributeProto.AttributeType
namespace attribute_type {
enum : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};
}  // namespace attribute_type

namespace tensor_field {
enum : std::uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDocString = 12,
  kExternalData = 13,
  kDataLocation = 14,
};
}  // namespace tensor_field

namespace sparse_tensor_field {
enum : std::uint32_t { kValues = 1, kDims = 3 };
}  // namespace sparse_tensor_field

namespace value_info_field {
enum : std::uint32_t { kName = 1, kType = 2 };
}  // namespace value_info_field

namespace type_field {
enum : std::uint32_t {
  kTensor = 1,
  kSequence = 4,
  kMap = 5,
  kOpaque = 7,
  kSparseTensor = 8,
  kOptional = 9,
};
}  // namespace type_field

// TypeProto.Tensor and TypeProto.SparseTensor
namespace tensor_type_field {
enum : std::uint32_t { kElemType = 1, kShape = 2 };
}  // namespace tensor_type_field

// TypeProto.Sequence and TypeProto.Optional
namespace element_type_field {
enum : std::uint32_t { kElemType = 1 };
}  // namespace element_type_field

namespace shape_field {
enum : std::uint32_t { kDim = 1 };
}  // namespace shape_field

namespace dim_field {
enum : std::uint32_t { kValue = 1, kParam = 2 };
}  // namespace dim_field

namespace key_value_field {
enum : std::uint32_t { kKey = 1, kValue = 2 };
}  // namespace key_value_field

namespace opset_field {
enum : std::uint32_t { kDomain = 1, kVersion = 2 };
}  // namespace opset_field

namespace annotation_field {
enum : std::uint32_t { kTensorName = 1, kQuantParameters = 2 };
}  // namespace annotation_field

}  // namespace cleave
