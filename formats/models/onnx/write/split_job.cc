#include "formats/models/onnx/write/split_job.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/op_name.h"
#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/write/source.h"

namespace cleave {
namespace {

// A dim as in the file: a size, else a name, else neither.
struct FileDim {
  std::optional<std::int64_t> size;
  std::string_view name;
};

struct FileTensorType {
  std::int32_t dtype = 0;
  bool has_shape = false;
  std::vector<FileDim> dims;
};

FileDim read_dim(std::string_view payload, OnnxWalk& walk) {
  FileDim out;
  for (OnnxFields field(payload, "a dimension", walk); field.next();) {
    if (field.key() == varint_field(dim_field::kValue)) {
      out.size = field.number();
    } else if (field.key() == bytes_field(dim_field::kParam)) {
      out.name = field.text();
    } else {
      field.skip();
    }
  }
  return out;
}

void read_shape(std::string_view payload, OnnxWalk& walk, FileTensorType& out) {
  out.has_shape = true;
  for (OnnxFields field(payload, "a shape", walk); field.next();) {
    if (field.key() == bytes_field(shape_field::kDim)) {
      out.dims.push_back(read_dim(field.text(), walk));
    } else {
      field.skip();
    }
  }
}

FileTensorType read_tensor_type(std::string_view payload, OnnxWalk& walk) {
  FileTensorType out;
  for (OnnxFields field(payload, "a tensor's type", walk); field.next();) {
    if (field.key() == varint_field(tensor_type_field::kElemType)) {
      out.dtype = field.number32();
    } else if (field.key() == bytes_field(tensor_type_field::kShape)) {
      read_shape(field.text(), walk, out);
    } else {
      field.skip();
    }
  }
  return out;
}

// nullopt for a non-tensor or a damaged one.
std::optional<FileTensorType> tensor_type_of(std::string_view type) {
  OnnxWalk walk;
  std::optional<FileTensorType> out;
  for (OnnxFields field(type, "a type", walk); field.next();) {
    if (field.key() == bytes_field(type_field::kTensor)) {
      out = read_tensor_type(field.text(), walk);
    } else {
      field.skip();
    }
  }
  return walk.is_refused() ? std::nullopt : out;
}

bool same_dim(const Graph& graph, Dim known, const FileDim& stated) {
  if (known.is_fixed()) return stated.size == known.size();
  if (stated.size) return false;
  return known.is_symbol() ? stated.name == graph.text(known.name()) : stated.name.empty();
}

// True when the file states exactly what the graph knows.
bool says_the_same(const Graph& graph, ValueId value, const FileTensorType& stated) {
  if (dtype_from_onnx(stated.dtype) != graph.value(value).dtype) return false;
  if (stated.has_shape != graph.has_rank(value)) return false;
  const Shape shape = graph.shape(value);
  if (shape.size() != stated.dims.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!same_dim(graph, shape[i], stated.dims[i])) return false;
  }
  return true;
}

}  // namespace

OnnxValueInfos::OnnxValueInfos(const LoadedModel& model)
    : graph_(model.graph), model_(*model.onnx()), declared_(model.graph.value_count(), nullptr) {
  std::unordered_map<std::string_view, const OnnxValueInfo*> by_name;
  // An input's or output's declaration takes precedence over a value_info of the same name.
  for (const auto* list :
       {&model_.graph.inputs, &model_.graph.outputs, &model_.graph.value_infos}) {
    for (const OnnxValueInfo& info : *list) by_name.emplace(info.name, &info);
  }
  for (const ValueId value : IdRange<ValueId>(0, graph_.value_count())) {
    if (graph_.value(value).kind == ValueKind::body_local) continue;
    const auto at = by_name.find(graph_.value(value).name);
    if (at != by_name.end()) declared_[value] = at->second;
  }
}

bool OnnxValueInfos::is_declared_as_known(ValueId value) const {
  const OnnxValueInfo* stated = declared_[value];
  if (stated == nullptr || graph_.value(value).dtype == DType::unknown) return true;
  const auto type = tensor_type_of(stated->type);
  return !type || says_the_same(graph_, value, *type);
}

std::string OnnxValueInfos::known(ValueId value) const {
  const std::string_view name = graph_.value(value).name;
  const OnnxValueInfo* stated = declared_[value];
  if (const auto full = model_.full_types.find(index(value)); full != model_.full_types.end()) {
    if (stated != nullptr && stated->type == full->second) {
      return std::string(stated->record.payload);
    }
    return encode_value_info(name, full->second);
  }
  if (stated != nullptr) {
    const auto type = tensor_type_of(stated->type);
    if (type && says_the_same(graph_, value, *type)) return std::string(stated->record.payload);
  }
  if (graph_.value(value).dtype == DType::unknown) {
    // A type that cleave does not know is copied unchanged.
    if (stated != nullptr) return std::string(stated->record.payload);
    return encode_value_info(name, {});
  }
  return encode_value_info(name, encode_tensor_type(graph_, value));
}

bool OnnxValueInfos::has_type(ValueId value) const {
  if (graph_.value(value).dtype != DType::unknown) return true;
  if (model_.full_types.contains(index(value))) return true;
  return declared_[value] != nullptr && !declared_[value]->type.empty();
}

bool OnnxValueInfos::has_rank(ValueId value) const {
  if (!has_type(value)) return false;
  return graph_.has_rank(value) || model_.full_types.contains(index(value));
}

namespace {

struct FileAnnotation {
  std::string_view tensor;
  std::vector<std::string_view> parameters;
};

FileAnnotation read_annotation(std::string_view payload) {
  FileAnnotation out;
  OnnxWalk walk;
  for (OnnxFields field(payload, "a quantization annotation", walk); field.next();) {
    if (field.key() == bytes_field(annotation_field::kTensorName)) {
      out.tensor = field.text();
    } else if (field.key() == bytes_field(annotation_field::kQuantParameters)) {
      out.parameters.push_back(index_onnx_key_value(field.text(), walk).value);
    } else {
      field.skip();
    }
  }
  return walk.is_refused() ? FileAnnotation{} : out;  // a damaged one annotates no tensor
}

std::unordered_map<std::string_view, ValueId> values_by_name(const Graph& graph) {
  std::unordered_map<std::string_view, ValueId> out;
  for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) {
    if (graph.value(value).kind != ValueKind::body_local)
      out.emplace(graph.value(value).name, value);
  }
  return out;
}

}  // namespace

OnnxAnnotations::OnnxAnnotations(const LoadedModel& model) {
  const OnnxMainGraph& file = model.onnx()->graph;
  if (file.quantization_annotations.empty()) return;
  const auto values = values_by_name(model.graph);
  std::unordered_map<std::string_view, std::uint32_t> initializers;
  for (std::uint32_t i = 0; i < file.initializers.size(); ++i) {
    initializers.emplace(file.initializers[i].name, i);
  }
  for (const OnnxRecord& record : file.quantization_annotations) {
    const FileAnnotation stated = read_annotation(record.payload);
    const auto value = values.find(stated.tensor);
    if (value == values.end()) continue;
    OnnxAnnotation annotation{.field = record.field, .parameters = {}};
    for (const std::string_view name : stated.parameters) {
      const auto at = initializers.find(name);
      if (at != initializers.end()) annotation.parameters.push_back(at->second);
    }
    by_value_.emplace(index(value->second), static_cast<std::uint32_t>(annotations_.size()));
    annotations_.push_back(std::move(annotation));
  }
}

std::vector<const OnnxAnnotation*> OnnxAnnotations::about(
    const std::vector<ValueId>& values) const {
  std::vector<const OnnxAnnotation*> out;
  if (empty()) return out;
  for (const ValueId value : values) {
    const std::size_t first = out.size();
    const auto [begin, end] = by_value_.equal_range(index(value));
    for (auto at = begin; at != end; ++at) out.push_back(&annotations_[at->second]);
    // In file order, independent of the table's.
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  }
  return out;
}

namespace {

std::string_view key_of_metadata(const OnnxRecord& record) {
  OnnxWalk walk;
  const OnnxKeyValue entry = index_onnx_key_value(record.payload, walk);
  return walk.is_refused() ? std::string_view() : entry.key;
}

void put_text(std::string& out, std::uint32_t field, std::string_view text) {
  if (!text.empty()) put_bytes(out, field, text);
}

// Default attributes of an operator, written out for a node inside a function: there, ONNX's own
// inference expands the operator's definition and forgets the defaults of its attributes.
std::string forgotten_attributes(const OnnxNode& node) {
  const bool is_normalization = node.op_type == "MeanVarianceNormalization" &&
                                plain_domain(node.domain).empty() && node.attributes.empty();
  std::string out;
  if (is_normalization) put_bytes(out, node_field::kAttribute, encode_ints("axes", {0, 2, 3}));
  return out;
}

class ImportList {
 public:
  void add(std::string_view domain, std::int64_t version) {
    if (known_.insert(plain_domain(domain)).second) {
      list.emplace_back(plain_domain(domain), version);
    }
  }
  // Recurses into the node's bodies, as deep as the file nests, which its reader limits.
  void add_domains(const OnnxNode& node) {
    add(node.domain, 1);
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) {
        for (const OnnxNode& inner : body.nodes) add_domains(inner);
      }
    }
  }
  std::vector<std::pair<std::string_view, std::int64_t>> list;

 private:
  std::unordered_set<std::string_view> known_;
};

}  // namespace

std::optional<OnnxLocation> OnnxSplitJob::reference(std::uint32_t initializer) const {
  const auto& elements = source.elements(initializer);
  if (!shared.offsets.empty()) {
    const auto offset = shared.offsets[initializer];
    if (!offset) return std::nullopt;
    return OnnxLocation{.file = OnnxSharedWeights::kFile, .offset = *offset};
  }
  if (references.empty() || !elements || elements->length <= kSmallReference) return std::nullopt;
  return OnnxLocation{.file = references[elements->source], .offset = elements->offset};
}

std::uint64_t add_aligned(BytePieces& data, const ByteRange& elements) {
  constexpr std::uint64_t kMapped = 1 << 20, kPage = 4096, kVector = 64;
  static constexpr std::array<char, kPage> kZeros = {};
  const std::uint64_t unit = elements.length >= kMapped ? kPage : kVector;
  const std::uint64_t over = data.size() % unit;
  if (over != 0) data.add({kZeros.data(), unit - over});
  const std::uint64_t offset = data.size();
  data.add_range(elements.source, elements.offset, elements.length);
  return offset;
}

OnnxSharedWeights shared_weights(const OnnxSplitJob& job) {
  const std::size_t count = job.onnx().graph.initializers.size();
  std::vector<bool> is_read(count);
  for (const ValueId value : job.boundaries.parameters.items)
    is_read[job.initializer(value)] = true;
  OnnxSharedWeights shared;
  shared.offsets.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& elements = job.source.elements(i);
    if (!is_read[i] || !elements || elements->length <= kSmallReference) continue;
    shared.offsets[i] = add_aligned(shared.data, *elements);
  }
  return shared;
}

std::vector<std::pair<std::string_view, std::int64_t>> opset_imports(const OnnxModel& onnx) {
  ImportList imports;
  for (const auto& [domain, version] : onnx.opsets) imports.add(domain, version);
  OnnxNode room;
  for (std::size_t i = 0; i < onnx.graph.nodes.size(); ++i) {
    imports.add_domains(onnx.graph.nodes.read_names(i, room));
  }
  return std::move(imports.list);
}

void add_node(const OnnxSplitJob& job, BytePieces& out, std::uint32_t field, NodeId node) {
  OnnxNode room;
  const OnnxNode& record = job.record(node, room);
  const std::string_view name = job.graph().node(node).name;
  std::string more;
  if (!record.name.empty() && record.name != name) put_bytes(more, node_field::kName, name);
  if (field == function_field::kNode) more += forgotten_attributes(record);
  more += job.tags.of(node);
  if (field == graph_field::kNode && more.empty()) {
    job.source.add_record(out, field, record.record);
  } else {
    job.source.add_message(out, field, record.record.payload, more, job.tags.replaced_in(record));
  }
}

std::string model_head(const OnnxSplitJob& job, std::int64_t least_ir_version) {
  const OnnxModel& onnx = job.onnx();
  std::string out;
  put_number(out, model_field::kIrVersion, std::max(onnx.ir_version, least_ir_version));
  put_text(out, model_field::kProducerName,
           onnx.producer_name.empty() ? "cleave" : onnx.producer_name);
  put_text(out, model_field::kProducerVersion, onnx.producer_version);
  put_text(out, model_field::kDomain, onnx.domain);
  if (onnx.model_version != 0) put_number(out, model_field::kModelVersion, onnx.model_version);
  put_text(out, model_field::kDocString, onnx.doc_string);
  return out;
}

void add_model_tail(const OnnxSplitJob& job, BytePieces& out, const OnnxModelTail& tail) {
  const OnnxModel& onnx = job.onnx();
  std::string imports;
  for (const auto& [domain, version] : job.opsets) {
    put_bytes(imports, model_field::kOpsetImport, encode_opset(domain, version));
  }
  out.add(imports);
  out.add(tail.made);
  out.add(job.tags.model_fields());
  const auto& left_out = tail.metadata_left_out;
  for (const OnnxRecord& record : onnx.metadata_props) {
    const std::string_view key = key_of_metadata(record);
    if (std::find(left_out.begin(), left_out.end(), key) != left_out.end()) continue;
    job.source.add_bytes(out, record.field);
  }
  for (const std::uint32_t function : tail.functions) {
    job.source.add_record(out, model_field::kFunctions, onnx.functions[function].record);
  }
  for (const OnnxRecord& record : onnx.configurations) job.source.add_bytes(out, record.field);
  for (const OnnxRecord& record : onnx.other_fields) job.source.add_bytes(out, record.field);
}

void add_field(BytePieces& out, std::uint32_t field, const BytePieces& payload) {
  std::string header;
  put_header(header, field, payload.size());
  out.add(header);
  out.append(payload);
}

}  // namespace cleave
