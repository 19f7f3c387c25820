// The records of an ONNX file as the index has them: views of the mapped file, so that writers can copy
// them byte for byte.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/dtype.h"

namespace cleave {

// Bytes of a message's payload (without tag and length) and of the whole field (with them).
struct OnnxRecord {
  std::string_view payload;
  std::string_view field;
};

struct OnnxKeyValue {
  std::string_view key, value;
};

// An initializer, or the tensor of a Constant or an attribute.
struct OnnxTensor {
  OnnxRecord record;
  std::string_view name;  // for a sparse tensor the name of its values
  DType dtype = DType::unknown;
  std::int32_t dtype_number = 0;  // as in the file, also when cleave does not know it
  std::vector<std::int64_t> dims;
  // The elements as consecutive little-endian bytes: raw_data, or a packed float_data or
  // double_data with exactly these bytes. Empty: no elements, or in another form.
  std::string_view raw;
  bool has_typed_data = false;  // the elements are in a *_data field other than raw_data
  bool is_sparse = false;
  bool is_external = false;
  std::string_view location;  // external: as written in the file
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // 0: to the end of the file
};

struct OnnxGraph;

struct OnnxAttribute {
  OnnxRecord record;
  std::string_view name;
  std::string_view reference;  // ref_attr_name, inside functions
  std::int32_t type = 0;       // AttributeProto.AttributeType, derived when the file leaves it out
  std::vector<OnnxTensor> tensors;  // t, tensors, sparse_tensor
  std::vector<OnnxGraph> graphs;    // g, graphs
  // Scalars and lists are decoded on demand, from the record.
};

struct OnnxNode {
  OnnxRecord record;
  std::string_view name;  // as in the file; may be empty or repeated
  std::string_view op_type;
  std::string_view domain;  // as in the file ("ai.onnx" is not folded into "")
  std::string_view overload;
  std::vector<std::string_view> inputs, outputs;  // "" where left out
  std::vector<OnnxAttribute> attributes;
  std::vector<OnnxKeyValue> metadata;  // metadata_props
};

struct OnnxValueInfo {
  OnnxRecord record;
  std::string_view name;
  std::string_view type;  // payload of the TypeProto; empty when there is none
};

// The fields of a graph other than its nodes.
struct OnnxGraphFields {
  OnnxRecord record;
  std::string_view name, doc_string;
  std::vector<OnnxTensor> initializers;  // dense and sparse, in file order
  std::vector<OnnxValueInfo> inputs, outputs, value_infos;
  std::vector<OnnxRecord> quantization_annotations;
  std::vector<OnnxRecord> metadata_props;
};

// The body of a node's attribute.
struct OnnxGraph : OnnxGraphFields {
  std::vector<OnnxNode> nodes;
};

}  // namespace cleave
