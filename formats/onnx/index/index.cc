// Makes the index of an ONNX file: nodes, links, external data.
#include "formats/onnx/index/index.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/min_cut.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/model.h"

namespace cleave {

// ---- external ----

std::optional<std::uint64_t> onnx_tensor_bytes(const OnnxTensor& tensor) {
  std::vector<Dim> dims;
  for (const std::int64_t size : tensor.dims) {
    if (size < 0) return std::nullopt;
    dims.push_back(Dim::fixed(size));
  }
  return tensor_bytes(tensor.dtype, dims);
}

OnnxExternalFiles::OnnxExternalFiles(std::string folder, std::vector<ByteSource>& sources)
    : files_(std::move(folder), sources) {}

Result<ByteRange, std::string> OnnxExternalFiles::find(const OnnxTensor& tensor) {
  const std::string place = "external data at " + escaped_in_quotes(tensor.location) + " ";
  const Result<WeightFiles::File, std::string> file = files_.find(tensor.location);
  if (!file) return place + file.error();
  if (std::string fault = fault_of_range(*file, tensor.offset, 0); !fault.empty()) {
    return place + fault;
  }
  const std::optional<std::uint64_t> wanted = onnx_tensor_bytes(tensor);
  const std::uint64_t stated =
      tensor.length == 0 ? wanted.value_or(file->size - tensor.offset) : tensor.length;
  if (wanted && stated != *wanted) {
    return place + "is declared as " + std::to_string(stated) + " bytes, but dims and type make " +
           std::to_string(*wanted);
  }
  if (std::string fault = fault_of_range(*file, tensor.offset, stated); !fault.empty()) {
    return place + fault;
  }
  return ByteRange{.source = file->source, .offset = tensor.offset, .length = stated};
}

// ---- nodes ----
//
// Nodes and attributes of an ONNX file, field by field: for the index, and for decoding nodes of
// the main graph later.

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

bool is_stored_decoded(const OnnxNode& node) {
  return std::ranges::any_of(node.attributes, [](const OnnxAttribute& attribute) {
    return !attribute.graphs.empty() || attribute.record.payload.size() > kMostAttributeBytes;
  });
}

constexpr std::size_t kMostWaiting = 64;  // names; more are not fetched at once

// The same for an AttributeProto, unless the field is a graph.
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

// The AttributeProto.AttributeType whose value is in the field with this number; 0: not a value.
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

// Takes a field of a NodeProto unless it is an attribute; returns false if the field must still be
// taken.
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

}  // namespace

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
  const bool is_own = contains(attributes, kNone);
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

OnnxNodes::OnnxNodes(const OnnxNodes& other)
    : names_(std::make_shared<OnnxNames>(*other.names_)),
      kinds_(std::make_shared<OnnxNodeKinds>(*other.kinds_)),
      places_(other.places_),
      numbers_(other.numbers_),
      waiting_(other.waiting_),
      labels_(other.labels_) {
  for (const auto& [place, node] : other.kept_) {
    kept_.emplace(place, std::make_unique<OnnxNode>(*node));
  }
}

void OnnxNodes::add(OnnxNode& node, std::span<const std::uint32_t> attributes) {
  const bool has_bodies = std::ranges::any_of(
      node.attributes, [](const OnnxAttribute& attribute) { return !attribute.graphs.empty(); });
  const bool is_kept = is_stored_decoded(node);
  const OnnxRecord& record = node.record;
  places_.push_back(
      {.payload = record.payload.data(),
       .size = static_cast<std::uint32_t>(record.payload.size()),
       .kind = kinds_->kind_of(node, attributes),
       .first = static_cast<std::uint32_t>(numbers_.size() + waiting_.size()),
       .head = static_cast<std::uint16_t>(record.field.size() - record.payload.size()),
       .has_bodies = has_bodies,
       .has_metadata = !node.metadata.empty(),
       .is_kept = is_kept});
  add_name(node.name);
  for (const std::string_view name : node.inputs) add_name(name);
  for (const std::string_view name : node.outputs) add_name(name);
  if (waiting_.size() >= kMostWaiting) settle();
  if (is_kept) {
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
  if (!places_[i].is_kept) return;
  to.kept_.emplace(to.places_.size() - 1, std::move(kept_.at(i)));
}

template <class TakeField>
const OnnxNode& OnnxNodes::read_fields(std::size_t i, OnnxNode& room, const TakeField& take) const {
  if (places_[i].is_kept) return *kept_.at(i);
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

// ---- compiled nodes ----

namespace {

bool is_compiled(std::string_view op, std::string_view domain) {
  return op == "EPContext" && domain == "com.microsoft";
}

// What a node says, with the defaults of ONNX Runtime's schema.
struct CompiledNode {
  bool is_main = true, is_embedded = true;
  std::string_view source, file;
};

CompiledNode read_compiled(const OnnxNode& node) {
  CompiledNode out;
  for (const OnnxAttribute& attribute : node.attributes) {
    const OnnxAttributeValue value = decode_onnx_attribute(attribute);
    const bool is_off = !value.integers.empty() && value.integers.front() == 0;
    if (attribute.name == "main_context") out.is_main = !is_off;
    if (attribute.name == "embed_mode") out.is_embedded = !is_off;
    if (value.strings.empty()) continue;
    if (attribute.name == "source") out.source = value.strings.front();
    if (attribute.name == "ep_cache_context") out.file = value.strings.front();
  }
  return out;
}

class ContextFiles {
 public:
  explicit ContextFiles(const OnnxModel& model) {
    for (const OnnxFunction& function : model.functions) {
      for (const OnnxNode& node : function.nodes) add(node);
    }
  }

  void add_main(const OnnxNodes& nodes, std::uint32_t i) {
    if (!nodes.has_bodies(i) && !is_compiled(nodes.kind(i).op_type, nodes.kind(i).domain)) return;
    OnnxNode room;
    add(nodes.read(i, room));
  }

  std::vector<std::string_view> take() { return std::move(files_); }

 private:
  // Recurses into the node's bodies, as deep as the file nests, which its reader limits.
  void add(const OnnxNode& node) {
    if (is_compiled(node.op_type, node.domain)) {
      const CompiledNode compiled = read_compiled(node);
      const bool is_named = !compiled.is_embedded && !compiled.file.empty();
      if (is_named && seen_.insert(compiled.file).second) files_.push_back(compiled.file);
    }
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) {
        for (const OnnxNode& inner : body.nodes) add(inner);
      }
    }
  }

  std::unordered_set<std::string_view> seen_;
  std::vector<std::string_view> files_;
};

struct Contexts {
  std::vector<NodeId> mains, others;
};

// By source, in the order of their first nodes' names: only the groups matter.
std::map<std::string_view, Contexts> contexts_of(const OnnxModel& model, const Graph& graph) {
  std::map<std::string_view, Contexts> contexts;
  OnnxNode room;
  for (const NodeId node : graph.nodes()) {
    const std::uint32_t record = model.node_index[index(node)];
    const OnnxNodeKind& kind = model.graph.nodes.kind(record);
    if (!is_compiled(kind.op_type, kind.domain)) continue;
    const CompiledNode compiled = read_compiled(model.graph.nodes.read(record, room));
    Contexts& own = contexts[compiled.source];
    (compiled.is_main ? own.mains : own.others).push_back(node);
  }
  return contexts;
}

}  // namespace

std::vector<std::string_view> context_files(const OnnxModel& model,
                                            std::span<const std::uint32_t> nodes) {
  ContextFiles files(model);
  for (const std::uint32_t node : nodes) files.add_main(model.graph.nodes, node);
  return files.take();
}

std::vector<std::string_view> context_files(const OnnxModel& model) {
  std::vector<std::uint32_t> all(model.graph.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  return context_files(model, all);
}

std::vector<std::vector<NodeId>> nodes_of_contexts(const OnnxModel& model, const Graph& graph) {
  std::vector<std::vector<NodeId>> sets;
  for (auto& [source, own] : contexts_of(model, graph)) {
    if (own.others.empty() || own.mains.size() + own.others.size() < 2) continue;
    std::vector<NodeId>& set = sets.emplace_back(std::move(own.mains));
    set.insert(set.end(), own.others.begin(), own.others.end());
    std::ranges::sort(set);
  }
  return sets;
}

std::optional<MissingContext> missing_context(const OnnxModel& model, const Graph& graph,
                                              std::span<const NodeId> nodes) {
  const std::unordered_set<NodeId> piece(nodes.begin(), nodes.end());
  const auto is_in = [&](NodeId node) { return piece.contains(node); };
  for (const auto& [source, own] : contexts_of(model, graph)) {
    const auto other = std::ranges::find_if(own.others, is_in);
    const auto main = std::ranges::find_if_not(own.mains, is_in);
    if (other != own.others.end() && main != own.mains.end()) {
      return MissingContext{.node = *other, .context = *main};
    }
  }
  return std::nullopt;
}

// ---- links ----

namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::size_t kMostSuggestions = 3;  // each one searches all names
constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

using Names = std::unordered_set<std::string_view>;

class Linker {
 public:
  Linker(const std::string& file, const OnnxModel& model) : file_(file), graph_(model.graph) {
    out_.values = OnnxValueNumbers(graph_.nodes.names());
  }

  Loaded<OnnxLinks> run() {
    enter_inputs();
    enter_nodes();
    link_nodes();
    check_outputs();
    if (errors_.empty()) sort();
    if (errors_.empty()) find_hidden();
    if (!errors_.empty()) return std::move(errors_);
    return std::move(out_);
  }

 private:
  // The bodies around the current one, outermost first: the names that each makes.
  using Scopes = std::vector<const Names*>;

  // `number` is that of a name.
  void enter(std::uint32_t number, std::uint32_t node) {
    const std::uint32_t known = out_.values.add_named(number);
    if (known == OnnxValueNumbers::kNone) {
      makers_.push_back(node);
      return;
    }
    const std::string_view name = out_.values.name(known);
    const std::uint32_t first = makers_[known];
    const auto maker = [&](std::uint32_t i) {
      return i == kNoNode ? std::string("an input or initializer") : node_text(i);
    };
    if (node == kNoNode) {
      error("two initializers or inputs are called " + escaped_in_quotes(name) +
            ": names of values must be unique");
    } else if (first == node) {
      error(node_text(node) + " makes " + escaped_in_quotes(name) +
            " twice: names of values must be unique");
    } else {
      error(node_text(node) + " makes " + escaped_in_quotes(name) + ", which " + maker(first) +
            (first == kNoNode ? " is" : " makes") + " too: names of values must be unique");
    }
  }

  void enter_input(std::string_view name) { enter(graph_.nodes.names()->number(name), kNoNode); }

  void enter_inputs() {
    for (std::size_t i = 0; i < graph_.initializers.size(); ++i) {
      const std::string_view name = graph_.initializers[i].name;
      if (name.empty()) error("initializer " + std::to_string(i) + " has no name");
      enter_input(name);
    }
    const std::uint32_t initializers = out_.values.count();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const std::string_view name = graph_.inputs[i].name;
      if (name.empty()) error("input " + std::to_string(i) + " of the graph has no name");
      if (out_.values.find(name) >= initializers) enter_input(name);
    }
  }

  void enter_nodes() {
    const OnnxNodes& nodes = graph_.nodes;
    out_.first_output.reserve(nodes.size() + 1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      out_.first_output.push_back(out_.values.count());
      for (const std::uint32_t name : nodes.outputs(i)) {
        if (name != OnnxNames::kEmpty) enter(name, static_cast<std::uint32_t>(i));
      }
    }
    out_.first_output.push_back(out_.values.count());
  }

  // What nodes and their bodies read. Who makes it is known by now, also where the file has it later.
  void link_nodes() {
    OnnxNode room;
    out_.reads.begin.reserve(graph_.nodes.size() + 1);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      link_inputs(i);
      if (graph_.nodes.has_bodies(i)) link_bodies(i, graph_.nodes.read_names(i, room));
    }
    if (!out_.capture_begin.empty()) {
      const auto end = static_cast<std::uint32_t>(out_.captures.size());
      out_.capture_begin.resize(graph_.nodes.size() + 1, end);
    }
  }

  void link_inputs(std::size_t i) {
    for (const std::uint32_t name : graph_.nodes.inputs(i)) {
      const std::uint32_t number =
          name == OnnxNames::kEmpty ? OnnxValueNumbers::kNone : out_.values.named(name);
      if (name != OnnxNames::kEmpty && number == OnnxValueNumbers::kNone) {
        error_unknown(node_text(i), graph_.nodes.names()->text(name));
      }
      out_.reads.add(number);
    }
    out_.reads.end_list();
  }

  void link_bodies(std::size_t i, const OnnxNode& node) {
    const auto begin = static_cast<std::uint32_t>(out_.captures.size());
    out_.capture_begin.resize(i + 1, begin);  // also for the nodes without bodies before it
    captured_.clear();
    captured_.insert(node.inputs.begin(), node.inputs.end());
    for (const OnnxAttribute& attribute : node.attributes) {
      Scopes scopes;
      for (const OnnxGraph& body : attribute.graphs) read_body(body, i, scopes);
    }
  }

  // The recursion is as deep as bodies nest, which the index limits.
  void read_body(const OnnxGraph& body, std::size_t node, Scopes& scopes) {
    const Names made = names_made(body, node, scopes);
    for (const std::string_view name : made) made_in_bodies_.push_back({name, node});
    scopes.push_back(&made);
    const auto is_inner = [&](std::string_view name) {
      return std::ranges::any_of(scopes, [&](const Names* names) { return names->contains(name); });
    };
    for (const OnnxNode& inner : body.nodes) {
      for (const std::string_view name : inner.inputs) {
        if (!name.empty() && !is_inner(name)) capture(name, node);
      }
      for (const OnnxAttribute& attribute : inner.attributes) {
        for (const OnnxGraph& nested : attribute.graphs) read_body(nested, node, scopes);
      }
    }
    for (const OnnxValueInfo& output : body.outputs) {
      if (made.contains(output.name)) continue;
      if (!is_inner(output.name)) capture(output.name, node);
      out_.warnings.push_back(
          {.severity = Severity::warning,
           .file = file_,
           .message = "a body of " + node_text(node) + " returns " +
                      escaped_in_quotes(output.name) +
                      ", which is made outside it: runtimes refuse that; put an Identity between"});
    }
    scopes.pop_back();
  }

  // A body's own values. A value of an enclosing body with the same name is hidden.
  Names names_made(const OnnxGraph& body, std::size_t node, const Scopes& scopes) {
    Names made;
    for (const OnnxValueInfo& input : body.inputs) made.insert(input.name);
    for (const OnnxTensor& tensor : body.initializers) made.insert(tensor.name);
    for (const OnnxNode& inner : body.nodes) {
      for (const std::string_view name : inner.outputs) {
        if (!name.empty() && !made.insert(name).second) {
          error("a body of " + node_text(node) + " makes " + escaped_in_quotes(name) +
                " twice: names of values must be unique");
        }
      }
    }
    made.erase("");
    for (const Names* outer : scopes) {
      for (const std::string_view name : made) {
        if (outer->contains(name)) hidden_.push_back({name, node});
      }
    }
    return made;
  }

  void capture(std::string_view name, std::size_t node) {
    if (!captured_.insert(name).second) return;
    if (!is_known(name)) {
      error_unknown("a body of " + node_text(node), name);
      return;
    }
    out_.captures.push_back(name);
  }

  void check_outputs() {
    for (const OnnxValueInfo& output : graph_.outputs) {
      if (output.name.empty()) {
        error("an output of the graph has no name");
      } else if (!is_known(output.name)) {
        error_unknown("the graph's output", output.name);
      }
    }
  }

  // Finds values of bodies that have the name of a visible outer value. ONNX forbids this, tools
  // write it, and runtimes read it: inside the body, the body's own value counts. A name that is made
  // after the owner of the body is not visible.
  void find_hidden() {
    if (made_in_bodies_.empty()) return;
    std::vector<std::uint32_t> place(graph_.nodes.size());
    for (std::size_t i = 0; i < out_.order.size(); ++i) {
      place[out_.order[i]] = static_cast<std::uint32_t>(i);
    }
    for (const BodyValue& made : made_in_bodies_) {
      if (!is_known(made.name)) continue;
      const std::uint32_t maker = maker_of(made.name);
      const bool is_visible = maker == kNoNode || place[maker] < place[made.owner];
      if (is_visible) hidden_.push_back(made);
    }
    warn_of_hidden();
  }

  void warn_of_hidden() {
    if (hidden_.empty()) return;
    const auto key = [](const BodyValue& value) { return std::tie(value.owner, value.name); };
    const auto first = std::ranges::min_element(
        hidden_, [&](const BodyValue& a, const BodyValue& b) { return key(a) < key(b); });
    CappedList others(0);
    others.leave_out(hidden_.size() - 1);
    out_.warnings.push_back(
        {.severity = Severity::warning,
         .file = file_,
         .message =
             "a body of " + node_text(first->owner) + " makes " + escaped_in_quotes(first->name) +
             ", which hides the outer value of that name: inside the body its own value is read, "
             "as runtimes do" +
             others.rest("; so does # more value of bodies", "; so do # more values of bodies")});
  }

  void sort() {
    for (std::uint32_t i = 0; i < graph_.nodes.size() && out_.was_sorted; ++i) {
      each_maker(i, [&](std::uint32_t maker) { out_.was_sorted = out_.was_sorted && maker < i; });
    }
    if (out_.was_sorted) {
      out_.order.resize(graph_.nodes.size());
      std::iota(out_.order.begin(), out_.order.end(), 0U);
      return;
    }
    TopologicalOrder sorted = topological_order(waits_for());
    if (!sorted.cycle.empty()) {
      report_cycle(sorted.cycle);
      return;
    }
    report_order();
    out_.order = std::move(sorted.order);
  }

  // The node's inputs and captures.
  std::vector<std::string_view> reads_of(std::size_t node) const {
    const auto captures = out_.captures_of(node);
    OnnxNode room;
    std::vector<std::string_view> reads = graph_.nodes.read_names(node, room).inputs;
    reads.insert(reads.end(), captures.begin(), captures.end());
    return reads;
  }

  template <class Visit>

  // Calls visit(maker) for each value that the node or a body of it reads and that a node makes.
  void each_maker(std::uint32_t node, const Visit& visit) const {
    const auto tell = [&](std::uint32_t number) {
      if (number != OnnxValueNumbers::kNone && makers_[number] != kNoNode) visit(makers_[number]);
    };
    for (const std::uint32_t number : out_.reads.of(node)) tell(number);
    for (const std::string_view name : out_.captures_of(node)) tell(out_.values.find(name));
  }

  Adjacency waits_for() const {
    Adjacency result;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      each_maker(i, [&](std::uint32_t maker) { result.add(maker); });
      result.end_list();
    }
    return result;
  }

  void report_cycle(const std::vector<std::uint32_t>& cycle) {
    constexpr std::size_t kShown = 8;
    const std::string text =
        "the nodes form a cycle: " +
        capped_list(
            cycle, kShown, [&](std::uint32_t node) { return node_text(node); }, " -> ...", " -> ") +
        " -> ";
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
      const std::uint32_t reader = cycle[(i + 1) % cycle.size()];
      OnnxNode room;
      const auto& made = graph_.nodes.read_names(cycle[i], room).outputs;
      const std::vector<std::string_view> reads = reads_of(reader);
      const auto value = std::ranges::find_if(
          made, [&](std::string_view name) { return !name.empty() && contains(reads, name); });
      notes.push_back(node_text(cycle[i]) + " makes " + escaped_in_quotes(*value) + ", which " +
                      node_text(reader) + " reads");
    }
    error(text + node_text(cycle.front()), std::move(notes));
  }

  // Reports the first place where the file's order is wrong.
  void report_order() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto is_later = [&](std::string_view name) {
        const std::uint32_t maker = maker_of(name);
        return maker != kNoNode && maker > i;
      };
      const std::vector<std::string_view> reads = reads_of(i);
      const auto read = std::ranges::find_if(reads, is_later);
      if (read == reads.end()) continue;
      out_.warnings.push_back(
          {.severity = Severity::warning,
           .file = file_,
           .message = "the nodes are not in topological order; they are read in an order that is",
           .notes = {node_text(i) + " reads " + escaped_in_quotes(*read) + ", which " +
                     node_text(maker_of(*read)) + " makes later"}});
      return;
    }
  }

  void error(std::string message, std::vector<std::string> notes = {}) {
    if (errors_.size() == kMostErrors) return;
    errors_.push_back({.file = file_, .message = std::move(message), .notes = std::move(notes)});
  }

  void error_unknown(const std::string& reader, std::string_view name) {
    std::vector<std::string> notes;
    if (suggestions_++ < kMostSuggestions) {
      std::vector<std::string_view> names;
      names.reserve(out_.values.count());
      for (std::uint32_t i = 0; i < out_.values.count(); ++i) names.push_back(out_.values.name(i));
      std::ranges::sort(names);
      const std::string near = nearest_name(name, names);
      if (!near.empty()) notes.push_back("did you mean " + escaped_in_quotes(near) + "?");
    }
    error(reader + " reads " + escaped_in_quotes(name) + ", which nothing produces",
          std::move(notes));
  }

  std::string node_text(std::size_t i) const {
    OnnxNode room;
    return onnx_node_text(graph_.nodes.read_names(i, room), i);
  }
  bool is_known(std::string_view name) const {
    return out_.values.find(name) != OnnxValueNumbers::kNone;
  }
  // kNoNode for an input or initializer, and for an unknown name.
  std::uint32_t maker_of(std::string_view name) const {
    const std::uint32_t number = out_.values.find(name);
    return number == OnnxValueNumbers::kNone ? kNoNode : makers_[number];
  }

  const std::string& file_;
  const OnnxMainGraph& graph_;
  std::vector<std::uint32_t> makers_;  // by number of the value; kNoNode: input or initializer
  struct BodyValue {
    std::string_view name;
    std::size_t owner;
  };
  std::vector<BodyValue> made_in_bodies_;
  std::vector<BodyValue> hidden_;  // values of bodies with the name of an outer one
  Names captured_;                 // by the current node
  std::size_t suggestions_ = 0;
  OnnxLinks out_;
  Diagnostics errors_;
};

}  // namespace

std::string onnx_node_text(const OnnxNode& node, std::size_t index) {
  if (!node.name.empty()) return "node " + escaped_in_quotes(node.name);
  return "node " + std::to_string(index) + " (" + std::string(node.op_type) + ")";
}

Loaded<OnnxLinks> link_onnx_graph(const std::string& file, const OnnxModel& model) {
  return Linker(file, model).run();
}

// ---- index ----

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
  const bool is_ascii = std::ranges::none_of(type, [](char byte) { return (byte & 0x80) != 0; });
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

  OnnxNode node(OnnxRecord record) {
    const OnnxDepthGuard deeper(walk_);
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

  // Indexes the file. The model is complete only if fault() is empty afterwards.
  OnnxModel model() {
    const OnnxDepthGuard deeper(walk_);
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

  const std::string& fault() const { return walk_.fault; }
  // The external locations of all tensors indexed, also those inside nodes. May list one more than
  // once.
  const std::vector<std::string_view>& external_locations() const { return locations_; }

 private:
  // Most tensors are in the same file as the one before.
  void note_location(const OnnxTensor& tensor) {
    if (!tensor.is_external || tensor.location.empty()) return;
    if (locations_.empty() || locations_.back() != tensor.location) {
      locations_.push_back(tensor.location);
    }
  }

  OnnxMainGraph main_graph(OnnxRecord record) {
    const OnnxDepthGuard deeper(walk_);
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

  void add_main_node(OnnxRecord record, OnnxNodes& out) {
    const OnnxDepthGuard deeper(walk_);
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
    if (is_stored_decoded(room_) && !walk_.is_refused()) complete_attributes();
    out.add(room_, room_attributes_);
  }

  // The number of a main node's attribute. One whose bytes were met before is known to be sound; else it is
  // decoded, and left in room_ if it gets no number.
  std::uint32_t main_attribute(OnnxRecord record, OnnxNodes& out) {
    const std::uint32_t known = out.find_attribute(record.payload);
    if (known != OnnxNodeKinds::kNone) return known;
    const std::uint64_t odd_names = walk_.odd_names;
    OnnxAttribute decoded = attribute(record);
    const bool is_counted = walk_.odd_names != odd_names;  // and is to be counted each time
    const std::uint32_t fresh = is_counted ? OnnxNodeKinds::kNone : out.add_attribute(decoded);
    if (fresh == OnnxNodeKinds::kNone) room_.attributes.push_back(std::move(decoded));
    return fresh;
  }

  // Decodes also those attributes of a main node that have numbers: one that is stored decoded is kept as a whole.
  void complete_attributes() {
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

  OnnxGraph body(OnnxRecord record) {
    const OnnxDepthGuard deeper(walk_);
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

  // Takes a field of a graph other than a node.
  void graph_field(OnnxFields& field, OnnxGraphFields& out) {
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

  OnnxAttribute attribute(OnnxRecord record) {
    const OnnxDepthGuard deeper(walk_);
    OnnxAttribute out;
    out.record = record;
    std::int32_t derived = 0;
    for (OnnxFields field(record.payload, "an attribute", walk_); field.next();) {
      if (derived == 0) derived = onnx_attribute_type(field.field_number());
      if (attribute_body(field, out) || index_onnx_attribute_field(field, out, walk_)) continue;
      if (field.key() ==
          bytes_field(
              attribute_field::kInts)) {  // check it here, so that later decoding cannot fail
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

  // Reads the field if it is a graph.
  bool attribute_body(OnnxFields& field, OnnxAttribute& out) {
    if (field.key() != bytes_field(attribute_field::kGraph) &&
        field.key() != bytes_field(attribute_field::kGraphs))
      return false;
    out.graphs.push_back(body(field.record()));
    return true;
  }

  OnnxValueInfo value_info(OnnxRecord record) {
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

  OnnxFunction function(OnnxRecord record) {
    const OnnxDepthGuard deeper(walk_);
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

  std::pair<std::string_view, std::int64_t> opset(std::string_view payload) {
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

  void count_node() {
    if (++nodes_ > walk_.limits.nodes) refuse_beyond_limit(walk_, "the model", &ModelLimits::nodes);
  }

  void count_value() {
    if (++values_ > walk_.limits.values) {
      refuse_beyond_limit(walk_, "the model", &ModelLimits::values);
    }
  }

  std::string_view bytes_;
  OnnxWalk walk_;
  std::vector<std::int64_t> scratch_;
  OnnxNode room_;  // for the current node of the main graph: reused for its memory
  std::vector<std::uint32_t> room_attributes_;  // numbers of its attributes
  std::uint64_t nodes_ = 0;
  std::uint64_t values_ = 0;                 // read and made by nodes
  std::vector<std::string_view> locations_;  // of external data, as the file has them
};

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
  sort_unique(locations);
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
  // A model repeats opset_import, metadata_props and functions, so its graph may come late; but a
  // file of another kind gives itself away in its first few fields.
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
