#include "formats/models/onnx/write/split_job.h"

#include <algorithm>
#include <unordered_set>

#include "core/graph/domain.h"
#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"
#include "formats/models/onnx/write/references.h"

namespace cleave {
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
  if (references.empty() || !elements || elements->length <= kSmallReference) return std::nullopt;
  return OnnxLocation{.file = references[elements->source], .offset = elements->offset};
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
