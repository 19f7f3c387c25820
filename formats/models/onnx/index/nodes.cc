// Nodes and attributes of an ONNX file, field by field: for the index, and for decoding nodes of
// the main graph later.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "formats/models/onnx/index/fields.h"
#include "formats/models/onnx/index/nodes.h"

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

constexpr std::size_t kMostWaiting = 64;  // names; more are not fetched at once

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

std::uint32_t OnnxNodeKinds::find_attribute(std::string_view payload) const {
  if (payload.size() > kMostBytes) return kNone;
  return attribute_table_.find(payload, [this](std::uint32_t i) { return attributes_[i]; });
}

std::uint32_t OnnxNodeKinds::add_attribute(const OnnxAttribute& attribute) {
  const std::string_view payload = attribute.record.payload;
  if (payload.size() > kMostBytes || !attribute.tensors.empty() || !attribute.graphs.empty()) {
    return kNone;
  }
  if (attributes_.size() == kMostAttributes) return find_attribute(payload);
  const auto fresh = static_cast<std::uint32_t>(attributes_.size());
  const std::uint32_t known = attribute_table_.find_or_insert(
      payload, fresh, [this](std::uint32_t i) { return attributes_[i]; });
  if (known != kNone) return known;
  attributes_.push_back(payload);
  return fresh;
}

std::uint32_t OnnxNodeKinds::kind_of(const OnnxNode& node,
                                     std::span<const std::uint32_t> attributes) {
  const bool is_own = std::find(attributes.begin(), attributes.end(), kNone) != attributes.end();
  const std::array<std::uint32_t, 6> counts = {
      static_cast<std::uint32_t>(node.inputs.size()),
      static_cast<std::uint32_t>(node.outputs.size()),
      static_cast<std::uint32_t>(node.op_type.size()),
      static_cast<std::uint32_t>(node.domain.size()),
      static_cast<std::uint32_t>(node.overload.size()),
      is_own ? kNone : static_cast<std::uint32_t>(attributes.size())};
  const auto append = [this](const std::uint32_t* numbers, std::size_t count) {
    key_.append(reinterpret_cast<const char*>(numbers), count * sizeof *numbers);
  };
  key_.clear();
  append(counts.data(), counts.size());
  if (!is_own) append(attributes.data(), attributes.size());
  key_ += node.op_type;
  key_ += node.domain;
  key_ += node.overload;
  const std::uint32_t known =
      table_.find_or_insert(key_, count(), [this](std::uint32_t i) { return keys_[i]; });
  if (known != kNone) return known;
  keys_.push_back(key_);
  kinds_.push_back({.op_type = node.op_type,
                    .domain = node.domain,
                    .overload = node.overload,
                    .inputs = counts[0],
                    .outputs = counts[1],
                    .has_own_attributes = is_own});
  return count() - 1;
}

void OnnxNodes::add(OnnxNode& node) {
  std::vector<std::uint32_t> numbers;
  for (const OnnxAttribute& attribute : node.attributes) {
    numbers.push_back(kinds_->add_attribute(attribute));
  }
  add(node, numbers);
  settle();
}

void OnnxNodes::add_name(std::string_view name) {
  const std::uint32_t hash = NameTable::hash_of(name);
  names_->fetch(hash);
  waiting_.push_back({name, hash});
}

void OnnxNodes::settle() {
  for (const Waiting& one : waiting_) numbers_.push_back(names_->number(one.name, one.hash));
  waiting_.clear();
}

void OnnxNodes::release_names() {
  names_ = std::make_shared<OnnxNames>();
  std::vector<std::uint32_t>().swap(numbers_);  // to assign {} would keep their memory
  std::vector<Waiting>().swap(waiting_);
}

void OnnxNodes::add(OnnxNode& node, std::span<const std::uint32_t> attributes) {
  const bool has_bodies =
      std::any_of(node.attributes.begin(), node.attributes.end(),
                  [](const OnnxAttribute& attribute) { return !attribute.graphs.empty(); });
  const OnnxRecord& record = node.record;
  places_.push_back(
      {.payload = record.payload.data(),
       .size = static_cast<std::uint32_t>(record.payload.size()),
       .kind = kinds_->kind_of(node, attributes),
       .first = static_cast<std::uint32_t>(numbers_.size() + waiting_.size()),
       .head = static_cast<std::uint16_t>(record.field.size() - record.payload.size()),
       .has_bodies = has_bodies,
       .has_metadata = !node.metadata.empty()});
  add_name(node.name);
  for (const std::string_view name : node.inputs) add_name(name);
  for (const std::string_view name : node.outputs) add_name(name);
  if (waiting_.size() >= kMostWaiting) settle();
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
  to.places_.back().first = static_cast<std::uint32_t>(to.numbers_.size());
  const OnnxNodeKind& its = kind(i);
  const auto numbers = std::span(numbers_).subspan(places_[i].first, 1 + its.inputs + its.outputs);
  to.numbers_.insert(to.numbers_.end(), numbers.begin(), numbers.end());
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

}  // namespace cleave
