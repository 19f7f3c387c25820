// OnnxModel: an index of an ONNX file. Every record is a view of the mapped file, so that writers
// can copy it byte for byte; weights are never read.
//
//   OnnxModel -> OnnxMainGraph -> OnnxNode -> OnnxAttribute -> OnnxGraph (bodies, nested)
//
// The main graph may have millions of nodes; they are decoded when they are used: see OnnxNodes.
// Nodes of bodies and functions are stored decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/dtype.h"
#include "core/graph/graph.h"

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

// The nodes of a main graph: 16 bytes each. A node is decoded from its record at each use, which
// takes about as long as reading that much memory. Nodes with bodies are stored decoded, so that
// the address of a body identifies it.
class OnnxNodes {
 public:
  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }

  // Node i: decoded into `room`, whose memory is reused, or a stored one. Valid until `room` is
  // used for another node.
  const OnnxNode& read(std::size_t i, OnnxNode& room) const;
  // The same, but with attributes and metadata only if the node has bodies.
  const OnnxNode& read_names(std::size_t i, OnnxNode& room) const;
  std::string_view name(std::size_t i) const;
  OnnxRecord record(std::size_t i) const;
  bool has_bodies(std::size_t i) const { return places_[i].has_bodies; }

  // For the index, which has checked the whole node. Leaves `node` for reuse.
  void add(OnnxNode& node);
  // Adds node i to other nodes, with its label; it cannot be read from these afterwards.
  void move_to(std::size_t i, OnnxNodes& to);

  // What a node without a name is called by: its place in the file, whatever was folded before it, so
  // that names in lists hold for every command. Nodes that were put in its place have it before a
  // number of their own: "12_0".
  std::string label(std::size_t i) const;
  // Sets what the node that was added last is called by.
  void set_label(std::string label);

 private:
  struct Place {
    const char* payload;
    std::uint32_t size;
    std::uint16_t head;  // bytes of the field before its payload
    bool has_bodies;
  };
  template <class TakeField>
  const OnnxNode& read_fields(std::size_t i, OnnxNode& room, const TakeField& take) const;
  std::vector<Place> places_;
  std::unordered_map<std::size_t, std::unique_ptr<OnnxNode>> kept_;
  std::vector<std::string> labels_;  // "" and beyond the end: the node's place
};

struct OnnxMainGraph : OnnxGraphFields {
  OnnxNodes nodes;
};

struct OnnxFunction {
  OnnxRecord record;
  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxAttribute> default_attributes;  // attribute_proto
  std::vector<OnnxValueInfo> value_infos;
  std::vector<std::pair<std::string_view, std::int64_t>> opsets;
};

struct OnnxModel {
  std::int64_t ir_version = 0;
  std::vector<std::pair<std::string_view, std::int64_t>> opsets;  // domain as in the file, version
  std::vector<OnnxRecord> opset_records;
  std::string_view producer_name, producer_version, domain, doc_string;
  std::int64_t model_version = 0;
  OnnxMainGraph graph;
  std::vector<OnnxFunction> functions;
  std::vector<OnnxRecord> metadata_props;  // of the model
  std::vector<OnnxRecord> training_infos;
  std::vector<OnnxRecord> configurations;  // device configurations, IR 11
  std::vector<OnnxRecord> other_fields;    // fields not in field_numbers.h
  std::uint64_t odd_names = 0;             // names that are not UTF-8, by --limit utf8=lenient
  std::string_view first_odd_name;

  // Folding (formats/models/onnx/fold) replaced nodes: the main graph is no longer what the file has.
  bool is_folded = false;
  std::deque<std::string> made;  // bytes of records and names that are not in the file

  // Maps the graph's ids to the file. Set by the reader.
  std::vector<std::uint32_t> node_index;    // by NodeId (nodes and constants): index in graph.nodes
  std::vector<std::uint32_t> tensor_index;  // by ValueId of a file parameter: index in
                                            // initializers; kNone-like 0xffffffff elsewhere
  // Serialized TypeProto, read or inferred, of values that need more than a dtype and a shape
  // (sequences, maps, optionals, sparse tensors). By ValueId.
  std::unordered_map<std::uint32_t, std::string> full_types;
  // Names given to nodes that have none in the file, or a repeated one, are in Graph.
};

}  // namespace cleave
