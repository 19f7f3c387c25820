// The data shared by all files of one split, computed once, and the code that partitions and root
// have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/read/reader.h"
#include "formats/models/onnx/write/node_tags.h"
#include "formats/models/onnx/write/source.h"
#include "formats/models/onnx/write/writer.h"

namespace cleave {

// Types of values in written files: ValueInfoProtos. The file's own is used if it agrees with the
// graph; otherwise one is made from the graph's dtype and shape.
class OnnxValueInfos {
 public:
  // `model` must outlive this.
  explicit OnnxValueInfos(const LoadedModel& model);

  // The declaration of a value among the file's inputs, outputs and value_info; null if there is
  // none.
  const OnnxValueInfo* declared(ValueId value) const { return declared_[value]; }
  // False when the declaration of a tensor states another dtype or shape than the graph knows, as an
  // open dim does that was bound. True if there is no declaration or the dtype is not known.
  bool is_declared_as_known(ValueId value) const;
  // A ValueInfoProto with all that is known: dims under their names in the graph, no shape if the
  // rank is unknown, no type if that is unknown.
  std::string known(ValueId value) const;

  // True when a session can take or give the value with the type that known() states.
  bool has_type(ValueId value) const;
  // False for a tensor of unknown rank, and if has_type() is false.
  bool has_rank(ValueId value) const;

 private:
  const Graph& graph_;
  const OnnxModel& model_;
  PerValue<const OnnxValueInfo*> declared_;
};

// Quantization annotations: which initializers hold the scale and zero point of a value. Tools that
// quantize use them, runtimes do not; each written file keeps those of its values.
struct OnnxAnnotation {
  std::string_view field;                 // the whole record, a field of GraphProto
  std::vector<std::uint32_t> parameters;  // indices of initializers
};

class OnnxAnnotations {
 public:
  explicit OnnxAnnotations(const LoadedModel& model);

  bool empty() const { return annotations_.empty(); }
  // The annotations about the values, in the values' order.
  std::vector<const OnnxAnnotation*> about(const std::vector<ValueId>& values) const;

 private:
  std::vector<OnnxAnnotation> annotations_;
  std::unordered_multimap<std::uint32_t, std::uint32_t> by_value_;
};

// weights.bin, with RootWeights::shared: the weights of all partitions, each once, however many
// partitions read it. Small ones are written into each file all the same; see kSmallReference.
struct OnnxSharedWeights {
  static constexpr std::string_view kFile = "weights.bin";
  BytePieces data;
  std::vector<std::optional<std::uint64_t>>
      offsets;  // by initializer; empty: there is no such file
};

// Adds elements where a runtime can use them in place, and returns where: from 1 MiB on at a multiple of
// 4,096 bytes, a page; smaller ones at a multiple of 64, since pages of many small weights are mostly
// padding. (ONNX Runtime draws the same line for the weights that it writes.)
std::uint64_t add_aligned(BytePieces& data, const ByteRange& elements);

struct OnnxSplitJob {
  const LoadedModel& model;
  const Partition& partition;
  const Boundaries& boundaries;       // of the partitions' own files
  const Boundaries& root_boundaries;  // as the root calls the partitions
  const OnnxWriteOptions& options;
  OnnxSource source;
  OnnxValueInfos value_infos;
  OnnxFunctionCalls function_calls;
  OnnxAnnotations annotations;
  // The opset imports of every written model and function: the model's, with the default domain as
  // "".
  std::vector<std::pair<std::string_view, std::int64_t>> opsets;
  std::vector<std::string> files;  // by part: `<part>.onnx`
  // With RootWeights::reference: where weights are, by file of `source`; see onnx_references().
  std::vector<std::string> references;
  OnnxSharedWeights shared = {};
  OnnxNodeTags tags;

  const Graph& graph() const { return model.graph; }
  const OnnxModel& onnx() const { return *model.onnx(); }
  // See OnnxNodes::read().
  const OnnxNode& record(NodeId node, OnnxNode& room) const {
    return onnx().graph.nodes.read(onnx().node_index[index(node)], room);
  }
  // The initializer that holds a parameter of the file, by index.
  std::uint32_t initializer(ValueId parameter) const {
    return onnx().tensor_index[index(parameter)];
  }
  // The place outside this file to which it refers for the initializer's elements; nullopt when
  // they are copied into it.
  std::optional<OnnxLocation> reference(std::uint32_t initializer) const;
};

// The model's opset imports, each domain once. Domains that nodes use but the model does not import
// are added with version 1, as ONNX Runtime assumes.
std::vector<std::pair<std::string_view, std::int64_t>> opset_imports(const OnnxModel& onnx);

// Lays weights.bin out, in the order of the model's initializers.
OnnxSharedWeights shared_weights(const OnnxSplitJob& job);

// Adds a node or constant, with its tags, as the given field of a graph or function. If the file
// gives one name to several nodes, which no runtime accepts, it is written under its name in the
// graph. A node without a name keeps none.
void add_node(const OnnxSplitJob& job, BytePieces& out, std::uint32_t field, NodeId node);

// The fields of a ModelProto before its graph; at least `least_ir_version`.
std::string model_head(const OnnxSplitJob& job, std::int64_t least_ir_version);

struct OnnxModelTail {
  std::string made;                                 // fields of this file only
  std::vector<std::uint32_t> functions;             // the model's functions that this file needs
  std::vector<std::string_view> metadata_left_out;  // keys that `made` sets
};
// The fields after the graph: opset imports, metadata, functions, and what cleave does not know.
void add_model_tail(const OnnxSplitJob& job, BytePieces& out, const OnnxModelTail& tail);

// Adds a message, header and pieces, as a field of another.
void add_field(BytePieces& out, std::uint32_t field, const BytePieces& payload);

}  // namespace cleave
