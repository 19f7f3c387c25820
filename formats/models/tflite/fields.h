// The fields of the schema that the reader and the writer name, by table.
#pragma once

#include "formats/models/tflite/schema.h"

namespace cleave::tfl {

namespace model {
inline constexpr auto version = schema_field("Model", "version");
inline constexpr auto operator_codes = schema_field("Model", "operator_codes");
inline constexpr auto subgraphs = schema_field("Model", "subgraphs");
inline constexpr auto description = schema_field("Model", "description");
inline constexpr auto buffers = schema_field("Model", "buffers");
inline constexpr auto metadata = schema_field("Model", "metadata");
inline constexpr auto signature_defs = schema_field("Model", "signature_defs");
inline constexpr auto external_buffer_groups = schema_field("Model", "external_buffer_groups");
inline constexpr auto external_buffers = schema_field("Model", "external_buffers");
}  // namespace model

namespace code {
inline constexpr auto deprecated_builtin_code =
    schema_field("OperatorCode", "deprecated_builtin_code");
inline constexpr auto custom_code = schema_field("OperatorCode", "custom_code");
inline constexpr auto version = schema_field("OperatorCode", "version");
inline constexpr auto builtin_code = schema_field("OperatorCode", "builtin_code");
}  // namespace code

namespace buffer {
inline constexpr auto data = schema_field("Buffer", "data");
inline constexpr auto offset = schema_field("Buffer", "offset");
inline constexpr auto size = schema_field("Buffer", "size");
}  // namespace buffer

namespace external {
inline constexpr auto file = schema_field("ExternalBufferGroup", "name");
inline constexpr auto id = schema_field("ExternalBuffer", "id");
inline constexpr auto group = schema_field("ExternalBuffer", "group");
inline constexpr auto offset = schema_field("ExternalBuffer", "offset");
inline constexpr auto length = schema_field("ExternalBuffer", "length");
inline constexpr auto packing = schema_field("ExternalBuffer", "packing");
}  // namespace external

namespace subgraph {
inline constexpr auto tensors = schema_field("SubGraph", "tensors");
inline constexpr auto inputs = schema_field("SubGraph", "inputs");
inline constexpr auto outputs = schema_field("SubGraph", "outputs");
inline constexpr auto operators = schema_field("SubGraph", "operators");
inline constexpr auto name = schema_field("SubGraph", "name");
inline constexpr auto debug_metadata = schema_field("SubGraph", "debug_metadata_index");
}  // namespace subgraph

namespace tensor {
inline constexpr auto shape = schema_field("Tensor", "shape");
inline constexpr auto type = schema_field("Tensor", "type");
inline constexpr auto buffer = schema_field("Tensor", "buffer");
inline constexpr auto name = schema_field("Tensor", "name");
inline constexpr auto quantization = schema_field("Tensor", "quantization");
inline constexpr auto is_variable = schema_field("Tensor", "is_variable");
inline constexpr auto sparsity = schema_field("Tensor", "sparsity");
inline constexpr auto signature = schema_field("Tensor", "shape_signature");
inline constexpr auto external_buffer = schema_field("Tensor", "external_buffer");
}  // namespace tensor

namespace op {
inline constexpr auto opcode_index = schema_field("Operator", "opcode_index");
inline constexpr auto inputs = schema_field("Operator", "inputs");
inline constexpr auto outputs = schema_field("Operator", "outputs");
inline constexpr auto builtin_options = schema_field("Operator", "builtin_options");
inline constexpr auto builtin_options_2 = schema_field("Operator", "builtin_options_2");
inline constexpr auto custom_options = schema_field("Operator", "custom_options");
inline constexpr auto intermediates = schema_field("Operator", "intermediates");
inline constexpr auto large_custom_options_offset =
    schema_field("Operator", "large_custom_options_offset");
inline constexpr auto large_custom_options_size =
    schema_field("Operator", "large_custom_options_size");
inline constexpr auto debug_metadata = schema_field("Operator", "debug_metadata_index");
}  // namespace op

namespace quantization {
inline constexpr auto scale = schema_field("QuantizationParameters", "scale");
inline constexpr auto zero_point = schema_field("QuantizationParameters", "zero_point");
inline constexpr auto details = schema_field("QuantizationParameters", "details");
inline constexpr auto dimension = schema_field("QuantizationParameters", "quantized_dimension");
}  // namespace quantization

namespace signature {
inline constexpr auto inputs = schema_field("SignatureDef", "inputs");
inline constexpr auto outputs = schema_field("SignatureDef", "outputs");
inline constexpr auto key = schema_field("SignatureDef", "signature_key");
inline constexpr auto subgraph_index = schema_field("SignatureDef", "subgraph_index");
inline constexpr auto tensor_name = schema_field("TensorMap", "name");
inline constexpr auto tensor_index = schema_field("TensorMap", "tensor_index");
}  // namespace signature

namespace metadata {
inline constexpr auto name = schema_field("Metadata", "name");
inline constexpr auto buffer = schema_field("Metadata", "buffer");
}  // namespace metadata

namespace variable {
inline constexpr auto container = schema_field("VarHandleOptions", "container");
inline constexpr auto shared_name = schema_field("VarHandleOptions", "shared_name");
}  // namespace variable

namespace composite {
inline constexpr auto name = schema_field("StableHLOCompositeOptions", "name");
inline constexpr auto subgraph =
    schema_field("StableHLOCompositeOptions", "decomposition_subgraph_index");
inline constexpr auto attributes =
    schema_field("StableHLOCompositeOptions", "composite_attributes");
inline constexpr auto version = schema_field("StableHLOCompositeOptions", "version");
}  // namespace composite

inline constexpr auto call_once_subgraph = schema_field("CallOnceOptions", "init_subgraph_index");

}  // namespace cleave::tfl
