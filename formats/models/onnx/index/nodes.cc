// Nodes and attributes of an ONNX file, field by field: for the index, and for decoding nodes of
// the main graph later.
#include <algorithm>
#include <limits>
#include <utility>

#include "formats/models/onnx/index/fields.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {
namespace {

// The index has already checked the file against the user's limits; here no limit applies. One walk a
// thread: making one for each node takes longer than walking it.
OnnxWalk& walk_of_what_is_checked() {
  thread_local OnnxWalk walk = [] {
    ModelLimits limits{.names = NameBytes::any};
    for (const LimitRow& row : limit_rows()) {
      limits.*row.value = std::numeric_limits<std::uint64_t>::max();
    }
    return OnnxWalk{.limits = limits};
  }();
  if (walk.is_refused()) walk.fault.clear();
  walk.depth = 0;
  return walk;
}

void clear(OnnxNode& node) {
  node.name = node.op_type = node.domain = node.overload = {};
  node.inputs.clear();
  node.outputs.clear();
  node.attributes.clear();
  node.metadata.clear();
}

OnnxAttribute read_attribute(OnnxRecord record, OnnxWalk& walk) {
  OnnxAttribute out;
  out.record = record;
  std::int32_t derived = 0;
  for (OnnxFields field(record.payload, "an attribute", walk); field.next();) {
    if (derived == 0) derived = onnx_attribute_type(field.field_number());
    if (!index_onnx_attribute_field(field, out, walk)) field.skip();
  }
  if (out.type == 0) out.type = derived;
  return out;
}

}  // namespace

std::int32_t onnx_attribute_type(std::uint32_t field_number) {
  switch (field_number) {
    case attribute_field::kFloat:
      return attribute_type::kFloat;
    case attribute_field::kInt:
      return attribute_type::kInt;
    case attribute_field::kString:
      return attribute_type::kString;
    case attribute_field::kTensor:
      return attribute_type::kTensor;
    case attribute_field::kGraph:
      return attribute_type::kGraph;
    case attribute_field::kFloats:
      return attribute_type::kFloats;
    case attribute_field::kInts:
      return attribute_type::kInts;
    case attribute_field::kStrings:
      return attribute_type::kStrings;
    case attribute_field::kTensors:
      return attribute_type::kTensors;
    case attribute_field::kGraphs:
      return attribute_type::kGraphs;
    case attribute_field::kSparseTensor:
      return attribute_type::kSparseTensor;
    case attribute_field::kSparseTensors:
      return attribute_type::kSparseTensors;
    case attribute_field::kTypeProto:
      return attribute_type::kTypeProto;
    case attribute_field::kTypeProtos:
      return attribute_type::kTypeProtos;
    default:
      return attribute_type::kUndefined;
  }
}

bool index_onnx_attribute_field(OnnxFields& field, OnnxAttribute& out, OnnxWalk& walk) {
  switch (field.key()) {
    case bytes_field(attribute_field::kName):
      out.name = field.name();
      return true;
    case bytes_field(attribute_field::kTensor):
    case bytes_field(attribute_field::kTensors):
      out.tensors.push_back(index_onnx_tensor(field.record(), walk));
      return true;
    case bytes_field(attribute_field::kSparseTensor):
    case bytes_field(attribute_field::kSparseTensors):
      out.tensors.push_back(index_onnx_sparse_tensor(field.record(), walk));
      return true;
    case bytes_field(attribute_field::kRefAttrName):
      out.reference = field.name();
      return true;
    case varint_field(attribute_field::kType):
      out.type = field.number32();
      return true;
    default:
      return false;
  }
}

bool index_onnx_node_field(OnnxFields& field, OnnxNode& out, OnnxWalk& walk) {
  switch (field.key()) {
    case bytes_field(node_field::kInput):
      out.inputs.push_back(field.name());
      return true;
    case bytes_field(node_field::kOutput):
      out.outputs.push_back(field.name());
      return true;
    case bytes_field(node_field::kName):
      out.name = field.name();
      return true;
    case bytes_field(node_field::kOpType):
      out.op_type = field.name();
      return true;
    case bytes_field(node_field::kDomain):
      out.domain = field.name();
      return true;
    case bytes_field(node_field::kOverload):
      out.overload = field.name();
      return true;
    case bytes_field(node_field::kMetadataProps):
      out.metadata.push_back(index_onnx_key_value(field.text(), walk));
      return true;
    default:
      return false;
  }
}

void OnnxNodes::add(OnnxNode& node) {
  const bool has_bodies =
      std::any_of(node.attributes.begin(), node.attributes.end(),
                  [](const OnnxAttribute& attribute) { return !attribute.graphs.empty(); });
  const OnnxRecord& record = node.record;
  places_.push_back(
      {.payload = record.payload.data(),
       .size = static_cast<std::uint32_t>(record.payload.size()),
       .head = static_cast<std::uint16_t>(record.field.size() - record.payload.size()),
       .has_bodies = has_bodies});
  if (has_bodies) {
    kept_.emplace(places_.size() - 1, std::make_unique<OnnxNode>(std::move(node)));
  }
  clear(node);
}

std::string OnnxNodes::label(std::size_t i) const {
  return i < labels_.size() && !labels_[i].empty() ? labels_[i] : std::to_string(i);
}

void OnnxNodes::set_label(std::string label) {
  labels_.resize(places_.size());
  labels_.back() = std::move(label);
}

void OnnxNodes::move_to(std::size_t i, OnnxNodes& to) {
  const bool is_in_place = to.places_.size() == i && i >= labels_.size();
  to.places_.push_back(places_[i]);
  if (!is_in_place) to.set_label(label(i));
  if (!places_[i].has_bodies) return;
  to.kept_.emplace(to.places_.size() - 1, std::move(kept_.at(i)));
}

template <class TakeField>
const OnnxNode& OnnxNodes::read_fields(std::size_t i, OnnxNode& room, const TakeField& take) const {
  if (places_[i].has_bodies) return *kept_.at(i);
  OnnxWalk& walk = walk_of_what_is_checked();
  clear(room);
  room.record = record(i);
  for (OnnxFields field(room.record.payload, "a node", walk); field.next();) {
    take(field, room, walk);
  }
  return room;
}

OnnxRecord OnnxNodes::record(std::size_t i) const {
  const Place& place = places_[i];
  return {.payload = {place.payload, place.size},
          .field = {place.payload - place.head, std::size_t{place.size} + place.head}};
}

// If the file has changed since then, its stamp refuses it later; decoding damaged bytes just ends
// early.
const OnnxNode& OnnxNodes::read(std::size_t i, OnnxNode& room) const {
  return read_fields(i, room, [](OnnxFields& field, OnnxNode& out, OnnxWalk& walk) {
    if (field.key() == bytes_field(node_field::kAttribute)) {
      out.attributes.push_back(read_attribute(field.record(), walk));
    } else if (!index_onnx_node_field(field, out, walk)) {
      field.skip();
    }
  });
}

const OnnxNode& OnnxNodes::read_names(std::size_t i, OnnxNode& room) const {
  return read_fields(i, room, [](OnnxFields& field, OnnxNode& out, OnnxWalk& walk) {
    const bool is_metadata = field.key() == bytes_field(node_field::kMetadataProps);
    if (is_metadata || !index_onnx_node_field(field, out, walk)) field.skip();
  });
}

std::string_view OnnxNodes::name(std::size_t i) const {
  if (places_[i].has_bodies) return kept_.at(i)->name;
  OnnxWalk& walk = walk_of_what_is_checked();
  std::string_view name;
  for (OnnxFields field(record(i).payload, "a node", walk); field.next();) {
    if (field.key() == bytes_field(node_field::kName)) {
      name = field.name();
    } else {
      field.skip();
    }
  }
  return name;
}

}  // namespace cleave
