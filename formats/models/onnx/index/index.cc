#include "formats/models/onnx/index/index.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/base/io/input_record.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/fields.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {
namespace {

// Limits on ONNX files that require looking inside a record.

void check_dim(std::string_view dim, OnnxWalk& walk) {
  for (OnnxFields field(dim, "a dimension", walk); field.next();) {
    if (field.key() == bytes_field(dim_field::kParam)) {
      field.name();
    } else {
      field.skip();
    }
  }
}

void check_shape(std::string_view shape, OnnxWalk& walk) {
  std::uint64_t dims = 0;
  for (OnnxFields field(shape, "a shape", walk); field.next();) {
    if (field.key() == bytes_field(shape_field::kDim)) {
      ++dims;
      check_dim(field.text(), walk);
    } else {
      field.skip();
    }
  }
  if (dims > walk.limits.dims) refuse_beyond_limit(walk, "a type", &ModelLimits::dims);
}

// Refuses a tensor's TypeProto with too many dims, before every node that reads the value copies
// them, and one with the name of a dim beyond the limits.
void check_onnx_dims(std::string_view type, OnnxWalk& walk) {
  const bool is_short = type.size() <= walk.limits.dims;  // a dim takes two bytes
  const bool is_ascii =
      std::none_of(type.begin(), type.end(), [](char byte) { return (byte & 0x80) != 0; });
  if (is_short && is_ascii) return;
  for (OnnxFields field(type, "a value's type", walk); field.next();) {
    if (field.key() != bytes_field(type_field::kTensor) &&
        field.key() != bytes_field(type_field::kSparseTensor)) {
      field.skip();
      continue;
    }
    for (OnnxFields inner(field.text(), "a tensor's type", walk); inner.next();) {
      if (inner.key() == bytes_field(tensor_type_field::kShape)) {
        check_shape(inner.text(), walk);
      } else {
        inner.skip();
      }
    }
  }
}

}  // namespace

// The index of an ONNX file: one walk over its protobuf that keeps views of the records.
//
// Only tags, lengths and short fields are read; the walk skips the elements of tensors, so that
// their pages are never touched. Unknown fields are skipped too and stay in the enclosing record
// for writers.
//
// The bytes may be hostile: lengths are checked against the bytes present before they are used, and
// memory grows only with the bytes walked.

namespace {

class Indexer {
 public:
  Indexer(std::string_view bytes, const ModelLimits& limits)
      : bytes_(bytes), walk_{.begin = bytes.data(), .limits = limits} {}
  OnnxNode node(OnnxRecord record);
  // Indexes the file. The model is complete only if fault() is empty afterwards.
  OnnxModel model();
  const std::string& fault() const { return walk_.fault; }
  // The external locations of all tensors indexed, also those inside nodes. May list one more than
  // once.
  const std::vector<std::string_view>& external_locations() const { return locations_; }

 private:
  void note_location(const OnnxTensor& tensor);
  OnnxMainGraph main_graph(OnnxRecord record);
  void add_main_node(OnnxRecord record, OnnxNodes& out);
  std::uint32_t main_attribute(OnnxRecord record, OnnxNodes& out);
  void complete_attributes();
  OnnxGraph body(OnnxRecord record);
  void graph_field(OnnxFields& field, OnnxGraphFields& out);
  OnnxAttribute attribute(OnnxRecord record);
  bool attribute_body(OnnxFields& field, OnnxAttribute& out);
  OnnxValueInfo value_info(OnnxRecord record);
  OnnxFunction function(OnnxRecord record);
  std::pair<std::string_view, std::int64_t> opset(std::string_view payload);
  void count_node();
  void count_value();

  std::string_view bytes_;
  OnnxWalk walk_;
  std::vector<std::int64_t> scratch_;
  OnnxNode room_;  // for the current node of the main graph: reused for its memory
  std::vector<std::uint32_t> room_attributes_;  // numbers of its attributes
  std::uint64_t nodes_ = 0;
  std::uint64_t values_ = 0;                 // read and made by nodes
  std::vector<std::string_view> locations_;  // of external data, as the file has them
};

void Indexer::count_node() {
  if (++nodes_ > walk_.limits.nodes) refuse_beyond_limit(walk_, "the model", &ModelLimits::nodes);
}

void Indexer::count_value() {
  if (++values_ > walk_.limits.values) {
    refuse_beyond_limit(walk_, "the model", &ModelLimits::values);
  }
}

// Most tensors are in the same file as the one before.
void Indexer::note_location(const OnnxTensor& tensor) {
  if (!tensor.is_external || tensor.location.empty()) return;
  if (locations_.empty() || locations_.back() != tensor.location) {
    locations_.push_back(tensor.location);
  }
}

OnnxValueInfo Indexer::value_info(OnnxRecord record) {
  OnnxValueInfo out;
  out.record = record;
  for (OnnxFields field(record.payload, "a value's type", walk_); field.next();) {
    switch (field.key()) {
      case bytes_field(value_info_field::kName):
        out.name = field.name();
        break;
      case bytes_field(value_info_field::kType):
        out.type = field.text();
        check_onnx_dims(out.type, walk_);
        break;
      default:
        field.skip();
    }
  }
  return out;
}

// Reads the field if it is a graph.
bool Indexer::attribute_body(OnnxFields& field, OnnxAttribute& out) {
  if (field.key() != bytes_field(attribute_field::kGraph) &&
      field.key() != bytes_field(attribute_field::kGraphs))
    return false;
  out.graphs.push_back(body(field.record()));
  return true;
}

OnnxAttribute Indexer::attribute(OnnxRecord record) {
  const OnnxDeeper deeper(walk_);
  OnnxAttribute out;
  out.record = record;
  std::int32_t derived = 0;
  for (OnnxFields field(record.payload, "an attribute", walk_); field.next();) {
    if (derived == 0) derived = onnx_attribute_type(field.field_number());
    if (attribute_body(field, out) || index_onnx_attribute_field(field, out, walk_)) continue;
    if (field.key() ==
        bytes_field(attribute_field::kInts)) {  // check it here, so that later decoding cannot fail
      scratch_.clear();
      field.append_packed(scratch_);
    } else {
      field.skip();
    }
  }
  if (out.type == 0) out.type = derived;
  for (const OnnxTensor& tensor : out.tensors) note_location(tensor);
  return out;
}

OnnxNode Indexer::node(OnnxRecord record) {
  const OnnxDeeper deeper(walk_);
  count_node();
  OnnxNode out;
  out.record = record;
  for (OnnxFields field(record.payload, "a node", walk_); field.next();) {
    if (index_onnx_node_field(field, out, walk_)) {
      if (field.key() == bytes_field(node_field::kInput) ||
          field.key() == bytes_field(node_field::kOutput))
        count_value();
    } else if (field.key() == bytes_field(node_field::kAttribute)) {
      if (out.attributes.size() == walk_.limits.attributes) {
        refuse_beyond_limit(walk_, "a node", &ModelLimits::attributes);
      }
      out.attributes.push_back(attribute(field.record()));
    } else {
      field.skip();
    }
  }
  return out;
}

// The number of a main node's attribute. One whose bytes were met before is known to be sound; else it is
// decoded, and left in room_ if it gets no number.
std::uint32_t Indexer::main_attribute(OnnxRecord record, OnnxNodes& out) {
  const std::uint32_t known = out.find_attribute(record.payload);
  if (known != OnnxNodeKinds::kNone) return known;
  const std::uint64_t odd_names = walk_.odd_names;
  OnnxAttribute decoded = attribute(record);
  const bool is_counted = walk_.odd_names != odd_names;  // and is to be counted each time
  const std::uint32_t fresh = is_counted ? OnnxNodeKinds::kNone : out.add_attribute(decoded);
  if (fresh == OnnxNodeKinds::kNone) room_.attributes.push_back(std::move(decoded));
  return fresh;
}

// Decodes also those attributes of a main node that have numbers: one with bodies is kept as a whole.
void Indexer::complete_attributes() {
  std::vector<OnnxAttribute> decoded;
  decoded.swap(room_.attributes);
  std::size_t at = 0, next = 0;
  for (OnnxFields field(room_.record.payload, "a node", walk_); field.next();) {
    if (field.key() != bytes_field(node_field::kAttribute)) {
      field.skip();
      continue;
    }
    const OnnxRecord record = field.record();
    const bool is_decoded = room_attributes_[at++] == OnnxNodeKinds::kNone;
    room_.attributes.push_back(is_decoded ? std::move(decoded[next++]) : attribute(record));
  }
}

void Indexer::add_main_node(OnnxRecord record, OnnxNodes& out) {
  const OnnxDeeper deeper(walk_);
  count_node();
  room_.record = record;
  room_attributes_.clear();
  for (OnnxFields field(record.payload, "a node", walk_); field.next();) {
    switch (field.key()) {
      case bytes_field(node_field::kInput):
        room_.inputs.push_back(field.name());
        count_value();
        break;
      case bytes_field(node_field::kOutput):
        room_.outputs.push_back(field.name());
        count_value();
        break;
      case bytes_field(node_field::kAttribute):
        if (room_attributes_.size() == walk_.limits.attributes) {
          refuse_beyond_limit(walk_, "a node", &ModelLimits::attributes);
        }
        room_attributes_.push_back(main_attribute(field.record(), out));
        break;
      default:
        if (!index_onnx_node_field(field, room_, walk_)) field.skip();
    }
  }
  const bool has_bodies =
      std::any_of(room_.attributes.begin(), room_.attributes.end(),
                  [](const OnnxAttribute& attribute) { return !attribute.graphs.empty(); });
  if (has_bodies && !walk_.is_refused()) complete_attributes();
  out.add(room_, room_attributes_);
}

// Takes a field of a graph other than a node.
void Indexer::graph_field(OnnxFields& field, OnnxGraphFields& out) {
  switch (field.key()) {
    case bytes_field(graph_field::kName):
      out.name = field.name();
      break;
    case bytes_field(graph_field::kInitializer):
      out.initializers.push_back(index_onnx_tensor(field.record(), walk_));
      note_location(out.initializers.back());
      break;
    case bytes_field(graph_field::kDocString):
      out.doc_string = field.text();
      break;
    case bytes_field(graph_field::kInput):
      out.inputs.push_back(value_info(field.record()));
      break;
    case bytes_field(graph_field::kOutput):
      out.outputs.push_back(value_info(field.record()));
      break;
    case bytes_field(graph_field::kValueInfo):
      out.value_infos.push_back(value_info(field.record()));
      break;
    case bytes_field(graph_field::kQuantizationAnnotation):
      out.quantization_annotations.push_back(field.record());
      break;
    case bytes_field(graph_field::kSparseInitializer):
      out.initializers.push_back(index_onnx_sparse_tensor(field.record(), walk_));
      note_location(out.initializers.back());
      break;
    case bytes_field(graph_field::kMetadataProps):
      out.metadata_props.push_back(field.record());
      break;
    default:
      field.skip();
  }
}

OnnxGraph Indexer::body(OnnxRecord record) {
  const OnnxDeeper deeper(walk_);
  OnnxGraph out;
  out.record = record;
  for (OnnxFields field(record.payload, "a graph", walk_); field.next();) {
    if (field.key() == bytes_field(graph_field::kNode)) {
      out.nodes.push_back(node(field.record()));
    } else {
      graph_field(field, out);
    }
  }
  return out;
}

OnnxMainGraph Indexer::main_graph(OnnxRecord record) {
  const OnnxDeeper deeper(walk_);
  OnnxMainGraph out;
  out.record = record;
  for (OnnxFields field(record.payload, "a graph", walk_); field.next();) {
    if (field.key() == bytes_field(graph_field::kNode)) {
      add_main_node(field.record(), out.nodes);
    } else {
      graph_field(field, out);
    }
  }
  out.nodes.settle();
  return out;
}

std::pair<std::string_view, std::int64_t> Indexer::opset(std::string_view payload) {
  std::pair<std::string_view, std::int64_t> out{"", 0};
  for (OnnxFields field(payload, "an opset import", walk_); field.next();) {
    switch (field.key()) {
      case bytes_field(opset_field::kDomain):
        out.first = field.name();
        break;
      case varint_field(opset_field::kVersion):
        out.second = field.number();
        break;
      default:
        field.skip();
    }
  }
  return out;
}

OnnxFunction Indexer::function(OnnxRecord record) {
  const OnnxDeeper deeper(walk_);
  OnnxFunction out;
  out.record = record;
  for (OnnxFields field(record.payload, "a function", walk_); field.next();) {
    switch (field.key()) {
      case bytes_field(function_field::kName):
        out.name = field.name();
        break;
      case bytes_field(function_field::kInput):
        out.inputs.push_back(field.name());
        break;
      case bytes_field(function_field::kOutput):
        out.outputs.push_back(field.name());
        break;
      case bytes_field(function_field::kNode):
        out.nodes.push_back(node(field.record()));
        break;
      case bytes_field(function_field::kOpsetImport):
        out.opsets.push_back(opset(field.text()));
        break;
      case bytes_field(function_field::kDomain):
        out.domain = field.name();
        break;
      case bytes_field(function_field::kAttributeProto):
        out.default_attributes.push_back(attribute(field.record()));
        break;
      case bytes_field(function_field::kValueInfo):
        out.value_infos.push_back(value_info(field.record()));
        break;
      case bytes_field(function_field::kOverload):
        out.overload = field.name();
        break;
      default:
        field.skip();
    }
  }
  return out;
}

OnnxModel Indexer::model() {
  const OnnxDeeper deeper(walk_);
  OnnxModel out;
  bool has_graph = false;
  for (OnnxFields field(bytes_, "the model", walk_); field.next();) {
    switch (field.key()) {
      case varint_field(model_field::kIrVersion):
        out.ir_version = field.number();
        break;
      case bytes_field(model_field::kProducerName):
        out.producer_name = field.text();
        break;
      case bytes_field(model_field::kProducerVersion):
        out.producer_version = field.text();
        break;
      case bytes_field(model_field::kDomain):
        out.domain = field.text();
        break;
      case varint_field(model_field::kModelVersion):
        out.model_version = field.number();
        break;
      case bytes_field(model_field::kDocString):
        out.doc_string = field.text();
        break;
      case bytes_field(model_field::kGraph):
        if (std::exchange(has_graph, true)) walk_.refuse("two graphs, where a model has one");
        out.graph = main_graph(field.record());
        break;
      case bytes_field(model_field::kOpsetImport):
        out.opset_records.push_back(field.record());
        out.opsets.push_back(opset(out.opset_records.back().payload));
        break;
      case bytes_field(model_field::kMetadataProps):
        out.metadata_props.push_back(field.record());
        break;
      case bytes_field(model_field::kTrainingInfo):
        out.training_infos.push_back(field.record());
        break;
      case bytes_field(model_field::kFunctions):
        out.functions.push_back(function(field.record()));
        break;
      case bytes_field(model_field::kConfiguration):
        out.configurations.push_back(field.record());
        break;
      default:
        if (field.has_bytes()) {
          out.other_fields.push_back(field.record());
        } else {
          field.skip();
        }
    }
  }
  out.odd_names = walk_.odd_names;
  out.first_odd_name = walk_.first_odd_name;
  if (!has_graph) {
    walk_.refuse("no graph in it: not an ONNX model, or cut off before its graph");
  }
  return out;
}

// Tells the kernel not to read ahead: there may be a gigabyte of weights between two short records.
void expect_scattered_reads(std::string_view bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t skipped = (page - begin % page) % page;
  if (bytes.size() < skipped + page) return;
  const std::size_t whole_pages = (bytes.size() - skipped) / page * page;
  madvise(const_cast<char*>(bytes.data()) + skipped, whole_pages, MADV_RANDOM);
}

// No output may overwrite the weights that the model refers to.
void record_external_files(const SourceFile& source, std::vector<std::string_view> locations) {
  std::sort(locations.begin(), locations.end());
  locations.erase(std::unique(locations.begin(), locations.end()), locations.end());
  for (const std::string_view location : locations) {
    if (location.find('\0') != location.npos) continue;
    record_input((std::filesystem::path(source.folder()) / location).string());
  }
}

}  // namespace

OnnxNode index_onnx_node(OnnxRecord record) {
  return Indexer(record.field, {.names = NameBytes::any}).node(record);
}

void DeleteOnnxModel::operator()(OnnxModel* model) const noexcept { delete model; }

Loaded<OnnxModel> index_onnx(const SourceFile& source, const ModelLimits& limits) {
  const std::string_view bytes = source.bytes();
  expect_scattered_reads(bytes);
  Indexer indexer(bytes, limits);
  OnnxModel model = indexer.model();
  if (!indexer.fault().empty()) {
    return Diagnostics{{.file = source.path(), .message = indexer.fault()}};
  }
  record_external_files(source, indexer.external_locations());
  return model;
}

bool looks_like_onnx(std::string_view bytes) {
  constexpr int kFieldsToAsk = 64;
  OnnxWalk walk{.begin = bytes.data()};
  OnnxFields field(bytes, "the model", walk);
  bool has_graph = false;
  for (int i = 0; i < kFieldsToAsk && field.next(); ++i) {
    switch (field.key()) {
      case varint_field(model_field::kIrVersion): {
        // The first field that every known writer puts down, with a small number.
        const std::int64_t ir_version = field.number();
        if (i == 0 && !walk.is_refused() && ir_version >= 0 && ir_version < 128) return true;
        break;
      }
      case bytes_field(model_field::kGraph):
        has_graph = true;
        [[fallthrough]];
      case varint_field(model_field::kModelVersion):
      case bytes_field(model_field::kProducerName):
      case bytes_field(model_field::kProducerVersion):
      case bytes_field(model_field::kDomain):
      case bytes_field(model_field::kDocString):
      case bytes_field(model_field::kOpsetImport):
      case bytes_field(model_field::kMetadataProps):
      case bytes_field(model_field::kTrainingInfo):
      case bytes_field(model_field::kFunctions):
      case bytes_field(model_field::kConfiguration):
        field.skip();
        break;
      default:
        return false;
    }
  }
  return has_graph && !walk.is_refused();
}

}  // namespace cleave
