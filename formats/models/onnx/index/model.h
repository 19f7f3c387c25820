// OnnxModel: an index of an ONNX file. Every record is a view of the mapped file, so that writers
// can copy it byte for byte; weights are never read.
//
//   OnnxModel -> OnnxMainGraph -> OnnxNode -> OnnxAttribute -> OnnxGraph (bodies, nested)
//
// The main graph may have millions of nodes: see OnnxNodes. Nodes of bodies and functions are stored
// decoded.
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
#include "core/graph/graph.h"
#include "formats/models/onnx/index/nodes.h"
#include "formats/models/onnx/index/records.h"

namespace cleave {

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
