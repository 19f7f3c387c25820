// Makes a graph of an ONNX file.
#include "formats/onnx/read/reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/base.h"
#include "core/base/min_cut.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "formats/base/elements.h"
#include "formats/base/faults.h"
#include "formats/base/model.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/infer.h"

namespace cleave {

// ---- quantization ----

namespace {

using Found = std::optional<Quantization>;

bool is_of(const Graph& graph, NodeId node, std::string_view op) {
  return graph.op(node) == op && (graph.domain(node).empty() || graph.domain(node) == "ai.onnx" ||
                                  graph.domain(node) == "com.microsoft");
}

bool is_quantize(const Graph& graph, NodeId node) {
  return quant_role(graph, node) == QuantRole::quantize;
}
bool is_dequantize(const Graph& graph, NodeId node) {
  return quant_role(graph, node) == QuantRole::dequantize;
}

// The operator's own quantised tensor: what a QuantizeLinear makes, a DequantizeLinear reads.
std::optional<ValueId> stored_tensor(const Graph& graph, NodeId node) {
  if (is_quantize(graph, node)) return *graph.outputs(node).begin();
  const Operand* const input = find_plain_input(graph, node, 0);
  return input == nullptr ? std::nullopt : std::optional(input->value);
}

std::int64_t integer_of(const Graph& graph, NodeId node, std::string_view name,
                        std::int64_t otherwise) {
  const Attribute* const attribute = find_attribute(graph, node, name);
  if (attribute == nullptr) return otherwise;
  const auto numbers = graph.attribute_pools().integers_of(*attribute);
  return numbers.empty() ? otherwise : numbers.front();
}

double real_of(const Literal& literal) {
  if (const auto* const integer = std::get_if<std::int64_t>(&literal)) {
    return static_cast<double>(*integer);
  }
  const auto* const real = std::get_if<double>(&literal);
  return real == nullptr ? 0 : *real;
}

// The value that Identity nodes copy, as exporters write them where several nodes share a zero point.
ValueId behind_identities(const Graph& graph, ValueId value) {
  for (;;) {
    const NodeId maker = graph.value(value).producer;
    if (maker == kNone<NodeId> || !is_of(graph, maker, "Identity")) return value;
    const Operand* const input = find_plain_input(graph, maker, 0);
    if (input == nullptr) return value;
    value = input->value;
  }
}

// What the scale and the zero point of a QuantizeLinear or DequantizeLinear say.
Found parameters_of(const OnnxModel& model, const Graph& graph, NodeId node) {
  const Operand* const scale = find_plain_input(graph, node, 1);
  const Operand* const zero = find_plain_input(graph, node, 2);
  const auto stored = stored_tensor(graph, node);
  if (scale == nullptr || !stored) return std::nullopt;
  const auto scales = onnx_constant_elements(model, graph, behind_identities(graph, scale->value));
  if (!scales || scales->empty()) return std::nullopt;
  Quantization found;
  found.stored = graph.value(*stored).dtype;
  found.kind = scales->size() == 1 ? Quantization::Kind::tensor : Quantization::Kind::axis;
  if (integer_of(graph, node, "block_size", 0) != 0) found.kind = Quantization::Kind::other;
  found.axis = integer_of(graph, node, "axis", 1);
  for (const Literal& one : *scales) found.scales.push_back(real_of(one));
  found.zero_points.assign(scales->size(), 0);
  if (zero == nullptr) return found;
  const auto points = onnx_constant_elements(model, graph, behind_identities(graph, zero->value));
  if (!points || points->size() != scales->size()) return std::nullopt;
  for (std::size_t i = 0; i < points->size(); ++i) {
    found.zero_points[i] = static_cast<std::int64_t>(real_of((*points)[i]));
  }
  return found;
}

}  // namespace

Found onnx_quantization(const OnnxModel& model, const Graph& graph, ValueId tensor) {
  const NodeId maker = graph.value(tensor).producer;
  if (maker != kNone<NodeId> && (is_dequantize(graph, maker) || is_quantize(graph, maker))) {
    return parameters_of(model, graph, maker);
  }
  const auto users = graph.users(tensor);
  const auto quantizes = [&](NodeId user) {
    const Operand* const input = find_plain_input(graph, user, 0);
    return (is_quantize(graph, user) || is_dequantize(graph, user)) && input != nullptr &&
           input->value == tensor;
  };
  const bool is_read_quantized =
      !users.empty() && !graph.is_graph_output(tensor) && std::ranges::all_of(users, quantizes);
  if (is_read_quantized) return parameters_of(model, graph, users.front());
  Quantization none;
  none.stored = graph.value(tensor).dtype;
  return none;
}

// ---- graph maker ----

namespace {

// `['', 'encoder', 'encoder.layer.0', 'linear']`, as Python prints a list: the last is the node.
std::string_view scope_of_list(std::string_view list) {
  std::string_view last, scope;
  for (std::size_t at = 0; at < list.size(); ++at) {
    const char quote = list[at];
    if (quote != '\'' && quote != '"') continue;
    const std::size_t end = list.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    if (!last.empty()) scope = last;
    last = list.substr(at + 1, end - at - 1);
    at = end;
  }
  return scope;
}

// `: main.Net/encoder: main.Encoder/encoder.layer.0: Linear/linear: aten.linear.default`
std::string_view scope_of_namespace(std::string_view text) {
  std::string_view scope;
  for (std::size_t slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/')) {
    const std::string_view part = text.substr(0, slash);
    const std::string_view name = trimmed(part.substr(0, part.find(": ")));
    if (!name.empty() && name.front() != ':') scope = name;
    text.remove_prefix(slash + 1);
  }
  return scope;
}

// "encoder.layer.0" for "/encoder//layer.0/", a path that ends in '/'. Into `scope`, whose memory is
// reused.
void write_scope_of_path(std::string_view path, std::string& scope) {
  scope.resize(path.size());
  std::size_t size = 0;
  bool is_new_part = false;
  for (const char c : path) {
    if (c == '/') {
      is_new_part = size > 0;
      continue;
    }
    if (std::exchange(is_new_part, false)) scope[size++] = '.';
    scope[size++] = c;
  }
  scope.resize(size);
}

// A unique name for each node of the main graph: the file's; `<op>_<index>` if it has none;
// `<name>_<index>` if an earlier node has the same. The index is the node's place in the file, whatever was
// folded: lists name nodes by it. A node of a branch that took the place of its If, file node 5, has 5_0, 5_1, ...
class OnnxUniqueNames {
 public:
  // The builder keeps names that are made. Appends to `notes` how many were.
  OnnxUniqueNames(const OnnxNodes& nodes, GraphBuilder& builder, std::vector<std::string>& notes)
      : nodes_(nodes) {
    const OnnxNames& names = *nodes.names();
    std::vector<bool> is_given(names.count());  // names of nodes in the file
    std::vector<std::uint32_t> nameless;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const std::uint32_t name = nodes.name_number(i);
      if (name == OnnxNames::kEmpty || is_given[name]) {
        nameless.push_back(i);
      } else {
        is_given[name] = true;
      }
    }
    if (nameless.empty()) return;
    made_.resize(nodes.size());
    NameTable taken;  // names that were made
    const auto made_name = [&](std::uint32_t i) { return made_[i]; };
    const auto is_in_use = [&](std::string_view name) {
      const std::uint32_t number = names.find(name);
      return (number != OnnxNames::kNone && is_given[number]) ||
             taken.find(name, made_name) != NameTable::kAbsent;
    };
    std::size_t unnamed = 0, repeated = 0;
    std::string example;
    for (const std::uint32_t i : nameless) {
      const bool has_name = !nodes.name(i).empty();
      std::string name(has_name ? nodes.name(i) : nodes.kind(i).op_type);
      name += '_' + nodes.label(i);
      while (is_in_use(name)) name += '_';
      made_[i] = builder.keep(name);
      taken.find_or_insert(made_[i], i, made_name);
      ++(has_name ? repeated : unnamed);
      if (has_name && example.empty()) {
        example = ", the first of them " + escaped_in_quotes(name);
      }
    }
    if (unnamed > 0) {
      notes.push_back(std::to_string(unnamed) +
                      (unnamed == 1 ? " node of the file without a name is called"
                                    : " nodes of the file without a name are called") +
                      " <op>_<index>");
    }
    if (repeated > 0) {
      notes.push_back(std::to_string(repeated) +
                      (repeated == 1 ? " node with a name that is already used is called"
                                     : " nodes with a name that is already used are called") +
                      " <name>_<index>" + example);
    }
  }

  std::string_view of(std::uint32_t i) const {
    return made_.empty() || made_[i].empty() ? nodes_.name(i) : made_[i];
  }

 private:
  const OnnxNodes& nodes_;
  std::vector<std::string_view> made_;  // by node, "" if it keeps its own; empty if all do
};

// The dotted path of the module that the node came from: as noted by the exporter, else from a name
// that is a path. `/encoder/layer.0/attn/MatMul` is in `encoder.layer.0.attn`.
class OnnxScopes {
 public:
  explicit OnnxScopes(GraphBuilder& builder) : builder_(builder) {}

  NameId of(std::string_view node_name, std::span<const OnnxKeyValue> metadata) {
    std::string_view noted;
    for (const OnnxKeyValue& entry : metadata) {
      if (entry.key == "pkg.torch.onnx.name_scopes") {
        return builder_.intern(scope_of_list(entry.value));
      }
      if (entry.key == "namespace" && noted.data() == nullptr) noted = entry.value;
    }
    if (noted.data() != nullptr) return builder_.intern(scope_of_namespace(noted));
    const std::string_view path = node_name.substr(0, node_name.rfind('/') + 1);
    if (path.empty()) return NameId{0};
    if (path == path_) return scope_;
    path_ = path;
    write_scope_of_path(path, room_);
    scope_ = builder_.intern(room_);
    return scope_;
  }

 private:
  GraphBuilder& builder_;
  std::string_view path_;  // of the node before, if its name was a path: up to the last '/'
  NameId scope_{0};        // of that path
  std::string room_;       // reused for its memory
};

}  // namespace

// Steps of make_onnx_graph():
// 1. declare inputs, then parameters;
// 2. add the nodes in topological order, with the nodes of their bodies;
// 3. add the outputs, and finish the graph;
// 4. fill the tables that lead from nodes and values back to the file.

namespace {

using Names = std::unordered_set<std::string_view>;

// The output type of an operator by its schema, for a value of otherwise unknown type.
ValueType type_by_op(std::string_view op) {
  static constexpr std::array<std::string_view, 7> kSequences = {
      "SequenceConstruct", "SequenceEmpty",   "SequenceInsert", "SequenceErase",
      "SequenceMap",       "SplitToSequence", "ZipMap"};
  for (const std::string_view sequence : kSequences) {
    if (op == sequence) return ValueType::sequence;
  }
  if (op == "Optional") return ValueType::optional;
  return op == "CastMap" ? ValueType::map : ValueType::tensor;
}

class GraphMaker {
 public:
  GraphMaker(const SourceFile& source, OnnxModel& model, OnnxLinks links, OnnxTypes& types,
             Folding folding)
      : source_(source),
        model_(model),
        links_(std::move(links)),
        types_(types),
        folding_(folding),
        constants_(model) {}

  Loaded<OnnxGraphMade> run() {
    handles_.resize(links_.values.count());
    constant_values_.resize(links_.values.count());
    builder_.set_names_unique();  // links_ and OnnxUniqueNames have looked
    builder_.set_name(model_.graph.name);
    for (const auto& [domain, version] : model_.opsets)
      builder_.add_opset(plain_domain(domain), version);
    std::vector<std::uint32_t> outputs;  // their numbers
    for (const OnnxValueInfo& output : model_.graph.outputs) {
      outputs.push_back(links_.values.find(output.name));
    }
    add_inputs();
    add_parameters();
    add_nodes();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      builder_.add_graph_output(handles_[outputs[i]], span_of(model_.graph.outputs[i].record));
    }
    free_links();
    Result<Graph, std::vector<GraphFault>> graph = builder_.finish();
    if (!graph) return faults_of(source_, graph.error());
    fill_tables(*graph);
    return OnnxGraphMade{std::move(*graph), std::move(warnings_), std::move(notes_)};
  }

 private:
  // A body's values by name, with the bodies around it.
  struct Body {
    const Body* outer;
    const OnnxBodyTypes* types;  // null when none are known
    std::unordered_map<std::string_view, ValueHandle> values = {};
    Names constants = {};
    std::string path = {};  // attributes from the outermost node on: "then_branch/body"
  };

  // Empty for a record that folding made.
  SourceSpan span_of(const OnnxRecord& record) const {
    const std::string_view file = source_.bytes();
    const std::less<> earlier;
    if (earlier(record.field.data(), file.data()) ||
        !earlier(record.field.data(), file.data() + file.size())) {
      return {};
    }
    return {.offset = static_cast<std::uint64_t>(record.field.data() - source_.bytes().data()),
            .length = static_cast<std::uint32_t>(record.field.size())};
  }

  // An unknown type counts as a tensor, unless the operator makes something else.
  ValueDecl value_decl(std::string_view name, const OnnxType& type, std::string_view op) {
    ValueDecl decl{.name = name};
    if (!type.is_known()) {
      decl.type = type_by_op(op);
      return decl;
    }
    decl.type = type.type;
    decl.dtype = type.dtype;
    if (!type.has_shape) return decl;
    if (&type != last_type_) {
      const auto [known, is_new] = shapes_.try_emplace(&type);
      if (is_new) known->second = shape_of(type);
      last_type_ = &type;
      last_shape_ = known->second;
    }
    decl.shape = last_shape_;
    return decl;
  }

  ShapeId shape_of(const OnnxType& type) {
    std::vector<Dim> dims;
    for (const OnnxDim& dim : type.dims) {
      dims.push_back(dim.is_fixed()      ? Dim::fixed(dim.size)
                     : !dim.name.empty() ? Dim::symbol(builder_.intern(dim.name))
                                         : Dim());
    }
    return builder_.intern_shape(dims);
  }

  // Records the value of the main graph with this number.
  void define(std::uint32_t number, ValueHandle value) {
    handles_[number] = value;
    const std::string& full = types_.main[number]->full;
    if (!full.empty()) full_types_.emplace_back(value, full);
  }

  void add_inputs() {
    std::vector<std::string_view> defaults;
    for (const OnnxValueInfo& input : model_.graph.inputs) {
      const std::uint32_t number = links_.values.find(input.name);
      if (number < model_.graph.initializers.size()) {
        defaults.push_back(input.name);
        continue;
      }
      const ValueDecl decl = value_decl(input.name, *types_.main[number], {});
      define(number, builder_.add_input(decl, span_of(input.record)));
    }
    if (model_.ir_version >= 4 && !defaults.empty()) warn_of_defaults(defaults);
  }

  void add_parameters() {
    std::uint32_t number = 0;
    for (const OnnxTensor& tensor : model_.graph.initializers) {
      const ValueDecl decl = value_decl(tensor.name, *types_.main[number], {});
      constant_values_[number] = true;
      define(number++, builder_.add_parameter(decl, span_of(tensor.record)));
    }
  }

  void warn_of_defaults(const std::vector<std::string_view>& names) {
    warnings_.push_back({.severity = Severity::warning,
                         .file = source_.path(),
                         .message = "initializers that are graph inputs too, so that a caller may "
                                    "override them, are taken as constants: " +
                                    capped_list(names, 10, escaped_in_quotes)});
  }

  // In topological order: whether a node is constant depends on earlier nodes.
  void add_nodes() {
    // limit of the estimate for the rest, in multiples of what is there
    constexpr std::size_t kMostTimes = 16;
    const OnnxUniqueNames names(model_.graph.nodes, builder_, notes_);
    free_lookup();
    kinds_.resize(model_.graph.nodes.kinds().count());
    std::size_t added = 0;
    std::size_t next_expected = 4096;
    for (const std::uint32_t i : links_.order) {
      add_node(i, names.of(i));
      if (++added != next_expected) continue;
      const double times = static_cast<double>(links_.order.size()) / static_cast<double>(added);
      // 2% more than the share suggests, so that tables do not grow once more at their end. The first
      // nodes of a file may be unlike the rest, so the estimate reaches 16 times as far as what was
      // seen, and is then made anew.
      builder_.expect_times(std::min(1.02 * times, static_cast<double>(kMostTimes)));
      next_expected *= kMostTimes;
    }
  }

  const OnnxNode& decoded(std::uint32_t i) {
    if (std::exchange(decoded_, i) != i) node_ = &model_.graph.nodes.read(i, room_);
    return *node_;
  }

  // Operator and attributes are looked up and decoded for the first node of a kind.
  void add_node(std::uint32_t i, std::string_view name) {
    const OnnxNodes& nodes = model_.graph.nodes;
    const OnnxNodeKind& kind = nodes.kind(i);
    AddedKind& added = kinds_[nodes.kind_number(i)];
    const bool is_first = !std::exchange(added.is_known, true);
    InternedNode decl{.name = name, .op = {}, .source = span_of(nodes.record(i))};
    decl.scope = nodes.has_metadata(i) ? scopes_.of(nodes.name(i), decoded(i).metadata)
                                       : scopes_.of(nodes.name(i), {});
    if (is_first) {
      added.op = builder_.intern(kind.op_type);
      added.domain = builder_.intern(plain_domain(kind.domain));
    }
    decl.op = added.op;
    decl.domain = added.domain;
    const bool constant = is_constant(i);
    const NodeHandle handle = constant ? builder_.add_constant(decl) : builder_.add_node(decl);
    node_of_handle_.push_back(i);
    add_operands(i);
    add_outputs(i, kind.op_type, constant);
    if (is_first) added.node = handle;
    if (is_first || kind.has_own_attributes) {
      add_attributes(decoded(i));
    } else {
      builder_.add_attributes_of(added.node);
    }
    if (!constant && nodes.has_bodies(i)) add_bodies(decoded(i), handle, nullptr, &types_.bodies);
  }

  void add_outputs(std::uint32_t i, std::string_view op, bool constant) {
    const OnnxNodes& nodes = model_.graph.nodes;
    std::uint32_t number = links_.first_output[i];
    std::uint32_t slot = 0;
    for (const std::uint32_t name : nodes.outputs(i)) {
      const std::uint32_t place = slot++;
      if (name == OnnxNames::kEmpty) continue;
      const ValueDecl value = value_decl(nodes.names()->text(name), *types_.main[number], op);
      constant_values_[number] = constant;
      define(number++, builder_.add_output(value, place));
    }
  }

  void add_operands(std::uint32_t i) {
    std::uint32_t slot = 0;
    for (const std::uint32_t number : links_.reads.of(i)) {
      const OperandSlot place = OperandSlot::positional(slot++);
      if (number != OnnxValueNumbers::kNone) builder_.add_operand(handles_[number], place);
    }
    for (const std::string_view captured : links_.captures_of(i)) {
      builder_.add_operand(value_named(captured), OperandSlot::capture());
    }
  }

  ValueHandle value_named(std::string_view name) {
    const std::uint32_t number = links_.values.find(name);
    return number == OnnxValueNumbers::kNone ? builder_.value_named(name) : handles_[number];
  }

  bool is_constant(std::uint32_t i) {
    for (const std::uint32_t number : links_.reads.of(i)) {
      if (!is_constant_value(number)) return false;
    }
    for (const std::string_view name : links_.captures_of(i)) {
      if (!is_constant_value(links_.values.find(name))) return false;
    }
    return can_be_constant(decoded(i));
  }

  bool is_constant_value(std::uint32_t number) const {
    return number == OnnxValueNumbers::kNone || constant_values_[number];
  }

  void add_attributes(const OnnxNode& node) {
    for (const OnnxAttribute& attribute : node.attributes) {
      const NameId name = builder_.intern(attribute.name);
      if (attribute.record.payload.size() > kMostAttributeBytes) {
        builder_.add_opaque_attribute(name);
        continue;
      }
      OnnxAttributeValue& value = attribute_;
      decode_onnx_attribute(attribute, value);
      switch (value.type) {
        case AttributeType::integer:
        case AttributeType::integers:
          builder_.add_attribute(name, std::span(value.integers), value.type);
          break;
        case AttributeType::real:
        case AttributeType::reals:
          builder_.add_attribute(name, std::span(value.reals), value.type);
          break;
        case AttributeType::string:
        case AttributeType::strings:
          builder_.add_attribute(name, std::span(value.strings), value.type);
          break;
        default:
          builder_.add_opaque_attribute(name);
      }
    }
  }

  // Recurses into nested bodies.
  void add_bodies(const OnnxNode& node, NodeHandle owner, const Body* outer,
                  const OnnxTypesOfBodies* types) {
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) {
        Body scope{.outer = outer, .types = nullptr};
        if (types != nullptr) {
          const auto found = types->find(&body);
          if (found != types->end()) scope.types = found->second.get();
        }
        scope.path = (outer == nullptr ? "" : outer->path + '/') + std::string(attribute.name);
        declare_body(body, scope);
        for (std::size_t i = 0; i < body.nodes.size(); ++i) {
          add_body_node(body.nodes[i], i, owner, scope);
        }
      }
    }
  }

  void declare_body(const OnnxGraph& body, Body& scope) {
    const auto declare = [&](std::string_view name, std::string_view op) {
      if (name.empty() || scope.values.contains(name)) return;
      const OnnxType* type = OnnxTypePool::unknown();
      if (scope.types != nullptr) {
        const auto found = scope.types->types.find(name);
        if (found != scope.types->types.end()) type = found->second;
      }
      scope.values.emplace(name, builder_.add_local_value(value_decl(name, *type, op)));
    };
    for (const OnnxValueInfo& input : body.inputs) declare(input.name, {});
    for (const OnnxTensor& tensor : body.initializers) {
      declare(tensor.name, {});
      scope.constants.insert(tensor.name);
    }
    for (const OnnxNode& node : body.nodes) {
      for (const std::string_view output : node.outputs) declare(output, node.op_type);
    }
  }

  void add_body_node(const OnnxNode& node, std::size_t i, NodeHandle owner, Body& scope) {
    if (is_body_constant(node, scope)) {
      scope.constants.insert(node.outputs.begin(), node.outputs.end());
      return;
    }
    const std::string_view name =
        node.name.empty() ? builder_.keep(std::string(node.op_type) + '_' + std::to_string(i))
                          : node.name;
    const NameId module_scope = scopes_.of(node.name, node.metadata);
    const NameId path = builder_.intern(scope.path);
    builder_.add_body_node(InternedNode{.name = name,
                                        .op = builder_.intern(node.op_type),
                                        .domain = builder_.intern(plain_domain(node.domain)),
                                        .scope = module_scope,
                                        .target = path,
                                        .source = span_of(node.record)},
                           owner);
    node_of_handle_.push_back(UINT32_MAX);
    add_body_operands(node, scope);
    for (const std::string_view output : node.outputs) {
      if (!output.empty()) builder_.add_body_output(scope.values.at(output));
    }
    add_attributes(node);
    add_bodies(node, owner, &scope, scope.types == nullptr ? nullptr : &scope.types->bodies);
  }

  void add_body_operands(const OnnxNode& node, const Body& scope) {
    const auto add = [&](std::string_view name, OperandSlot slot) {
      const ValueHandle* local = find_local(scope, name);
      builder_.add_operand(local != nullptr ? *local : value_named(name), slot);
    };
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
      if (node.inputs[slot].empty()) continue;
      add(node.inputs[slot], OperandSlot::positional(static_cast<std::uint32_t>(slot)));
    }
    Names inner, seen(node.inputs.begin(), node.inputs.end());
    std::vector<std::string_view> captured;
    free_names(node, inner, seen, captured);
    for (const std::string_view name : captured) add(name, OperandSlot::capture());
  }

  // Whether a node of a body is constant, by the same rules as nodes of the main graph. A body's own
  // inputs are not constant, but its captures may be.
  bool is_body_constant(const OnnxNode& node, const Body& scope) const {
    const auto is_constant_name = [&](std::string_view name) {
      for (const Body* body = &scope; body != nullptr; body = body->outer) {
        if (body->values.contains(name)) return body->constants.contains(name);
      }
      return is_constant_value(links_.values.find(name));
    };
    Names inner, seen;
    std::vector<std::string_view> reads(node.inputs);
    free_names(node, inner, seen, reads);
    for (const std::string_view name : reads) {
      if (!name.empty() && !is_constant_name(name)) return false;
    }
    return can_be_constant(node);
  }

  // With --fold off only what states its value, a Constant: what computes one is a node.
  bool can_be_constant(const OnnxNode& node) const {
    return constants_.is_pure(node) && (folding_ != Folding::off || node.inputs.empty());
  }

  static const ValueHandle* find_local(const Body& scope, std::string_view name) {
    for (const Body* body = &scope; body != nullptr; body = body->outer) {
      const auto found = body->values.find(name);
      if (found != body->values.end()) return &found->second;
    }
    return nullptr;
  }

  // Names that the bodies of the node read from outside, each once. `inner` are names made inside; a
  // name that one body makes may be an outer one for its neighbour.
  void free_names(const OnnxNode& node, Names& inner, Names& seen,
                  std::vector<std::string_view>& out) const {
    const auto read = [&](std::string_view name) {
      if (!name.empty() && !inner.contains(name) && seen.insert(name).second) out.push_back(name);
    };
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) {
        std::vector<std::string_view> made;
        const auto make = [&](std::string_view name) {
          if (inner.insert(name).second) made.push_back(name);
        };
        for (const OnnxValueInfo& input : body.inputs) make(input.name);
        for (const OnnxTensor& tensor : body.initializers) make(tensor.name);
        for (const OnnxNode& within : body.nodes) {
          for (const std::string_view output : within.outputs) make(output);
        }
        for (const OnnxNode& within : body.nodes) {
          for (const std::string_view name : within.inputs) read(name);
          free_names(within, inner, seen, out);
        }
        for (const OnnxValueInfo& output : body.outputs) read(output.name);
        for (const std::string_view name : made) inner.erase(name);
      }
    }
  }

  // Only bodies look values up by their names from here on.
  void free_lookup() {
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      if (model_.graph.nodes.has_bodies(i)) return;
    }
    model_.graph.nodes.names()->forget_numbers();
  }

  // What the graph does not need any more, before its finish takes as much.
  void free_links() {
    links_ = {};
    std::vector<const OnnxType*>().swap(types_.main);  // to assign {} would keep the memory
    std::vector<AddedKind>().swap(kinds_);
    types_.bodies.clear();
    model_.graph.nodes.release_names();
  }

  void fill_tables(const Graph& graph) {
    const auto node_ids = builder_.node_ids();
    model_.node_index.resize(graph.nodes().size() + graph.constants().size());
    for (std::size_t handle = 0; handle < node_of_handle_.size(); ++handle) {
      const std::uint32_t node = node_of_handle_[handle];
      if (node != UINT32_MAX) model_.node_index[index(node_ids[handle])] = node;
    }
    const auto value_ids = builder_.value_ids();
    const auto id_of = [&](ValueHandle handle) {
      return index(value_ids[static_cast<std::size_t>(handle)]);
    };
    model_.tensor_index.assign(graph.value_count(), UINT32_MAX);
    for (std::size_t i = 0; i < model_.graph.initializers.size(); ++i) {
      model_.tensor_index[id_of(handles_[i])] = static_cast<std::uint32_t>(i);
    }
    for (auto& [handle, type] : full_types_)
      model_.full_types.emplace(id_of(handle), std::move(type));
  }

  const SourceFile& source_;
  OnnxModel& model_;
  OnnxLinks links_;
  OnnxTypes& types_;
  Folding folding_;
  OnnxConstants constants_;
  GraphBuilder builder_;
  std::vector<bool> constant_values_;  // by number of the value
  std::vector<ValueHandle> handles_;   // by number of the value
  std::unordered_map<const OnnxType*, ShapeId> shapes_;
  const OnnxType* last_type_ = nullptr;  // the type that was asked for last, and its shape
  ShapeId last_shape_{};
  OnnxScopes scopes_{builder_};
  // What nodes of one kind share in the graph, from the first of them on.
  struct AddedKind {
    bool is_known = false;
    NameId op, domain;
    NodeHandle node;
  };
  std::vector<AddedKind> kinds_;  // by number of the kind
  OnnxNode room_;                 // for the node of the main graph that was decoded last,
  const OnnxNode* node_ = nullptr;
  std::uint32_t decoded_ = UINT32_MAX;         // its index
  OnnxAttributeValue attribute_;               // reused for its memory
  std::vector<std::uint32_t> node_of_handle_;  // by NodeHandle; body nodes: none
  std::vector<std::pair<ValueHandle, std::string>> full_types_;
  std::vector<Diagnostic> warnings_;
  std::vector<std::string> notes_;
};

// Also fills model.node_index, tensor_index and full_types. Linear. Takes the links and the types by value
// and out of `types`, and frees them and the model's names as soon as it can: at a million nodes they are
// as large as the graph.
Loaded<OnnxGraphMade> make_onnx_graph(const SourceFile& source, OnnxModel& model, OnnxLinks links,
                                      OnnxTypes& types, Folding folding) {
  return GraphMaker(source, model, std::move(links), types, folding).run();
}

}  // namespace

// ---- reader ----

// From the file to the graph:
// 1. the index;
// 2. checks of single records;
// 3. links: which node makes each value that is read;
// 4. types;
// 5. folding: what the types decide replaces nodes, and 3 and 4 begin anew (infer_folded_onnx);
// 6. the graph.

namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::int64_t kNewestIr = 13;
// Nodes of a model with its functions written out, unless the user sets a limit: a file of a few
// hundred bytes can ask for any number, each of which takes kilobytes.
constexpr std::uint64_t kMostInlined = 1'000'000;
constexpr std::int64_t kFirstIrWithOpsets = 3;

using FunctionIndex = std::unordered_map<std::string, std::uint32_t>;

void add_callees(const std::vector<OnnxNode>& nodes, const FunctionIndex& functions,
                 Adjacency& calls) {
  for (const OnnxNode& node : nodes) {
    const auto at = functions.find(onnx_function_key(node.domain, node.op_type, node.overload));
    if (at != functions.end()) calls.add(at->second);
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) add_callees(body.nodes, functions, calls);
    }
  }
}

// Functions that call each other in a cycle, by index: each calls the next, and the last the first.
// Empty when there is no cycle. Linear.
// A cycle exists when no order puts all callees first.
std::vector<std::uint32_t> cycle_of_functions(const OnnxModel& model) {
  FunctionIndex functions;
  for (std::uint32_t i = 0; i < model.functions.size(); ++i) {
    const OnnxFunction& function = model.functions[i];
    functions.emplace(onnx_function_key(function.domain, function.name, function.overload), i);
  }
  Adjacency calls;
  for (const OnnxFunction& function : model.functions) {
    add_callees(function.nodes, functions, calls);
    calls.end_list();
  }
  std::vector<std::uint32_t> cycle = topological_order(calls).cycle;
  std::ranges::reverse(cycle);
  return cycle;
}

// Checks records one at a time.
class Checker {
 public:
  Checker(const std::string& file, const OnnxModel& model) : file_(file), model_(model) {}

  Diagnostics run() {
    check_ir();
    check_names();
    check_initializers();
    check_nodes();
    check_functions();
    return std::move(errors_);
  }

  std::vector<Diagnostic> take_warnings() { return std::move(warnings_); }

 private:
  using Domains = std::unordered_set<std::string_view>;
  using Text = std::function<std::string()>;  // names the node; called only when needed

  void error(std::string message) {
    if (errors_.size() < kMostErrors)
      errors_.push_back({.file = file_, .message = std::move(message)});
  }

  void check_ir() {
    if (model_.ir_version <= kNewestIr) return;
    warnings_.push_back({.severity = Severity::warning,
                         .file = file_,
                         .message = "IR version " + std::to_string(model_.ir_version) +
                                    " is newer than cleave knows (" + std::to_string(kNewestIr) +
                                    "); read as far as it is known"});
  }

  void check_names() {
    if (model_.odd_names == 0) return;
    warnings_.push_back(
        {.severity = Severity::warning,
         .file = file_,
         .message = count_text(model_.odd_names) +
                    (model_.odd_names == 1 ? " name is" : " names are") + " not UTF-8, as " +
                    escaped_in_quotes(model_.first_odd_name) +
                    ": other tools may refuse this model, and what is written of it"});
  }

  void check_initializers() {
    const auto& tensors = model_.graph.initializers;
    std::size_t misfits = 0;
    std::vector<Dim> dims;  // reused for its memory
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const OnnxTensor& tensor = tensors[i];
      dims.clear();
      for (const std::int64_t dim : tensor.dims) {
        if (dim < 0)
          error("initializer " + escaped_in_quotes(tensor.name) + " has a dim of " +
                std::to_string(dim));
        dims.push_back(dim < 0 ? Dim() : Dim::fixed(dim));
      }
      const bool is_known = std::ranges::all_of(dims, [](Dim dim) { return dim.is_fixed(); });
      if (is_known && !element_count(dims)) {
        error("initializer " + escaped_in_quotes(tensor.name) + " has more elements than 2^63-1");
      }
      const std::optional<std::uint64_t> bytes = tensor_bytes(tensor.dtype, dims);
      const bool is_plain = !tensor.is_external && !tensor.is_sparse && !tensor.raw.empty();
      if (!is_plain || !bytes || *bytes == tensor.raw.size() || ++misfits > 3) continue;
      warnings_.push_back({.severity = Severity::warning,
                           .file = file_,
                           .message = "initializer " + escaped_in_quotes(tensor.name) + " has " +
                                      std::to_string(tensor.raw.size()) +
                                      " bytes of data where its type and dims need " +
                                      std::to_string(*bytes)});
    }
  }

  // Recurses into the nodes of bodies.
  void check_node(const OnnxNode& node, const Text& text, const Domains& imported) {
    if (node.op_type.empty()) error(text() + " has no operator");
    const std::string_view domain = plain_domain(node.domain);
    if (model_.ir_version >= kFirstIrWithOpsets && !imported.contains(domain) &&
        missing_.insert(domain).second) {
      error(text() + " is of domain " + escaped_in_quotes(domain.empty() ? "ai.onnx" : domain) +
            ", of which no opset is imported: add it to opset_import");
    }
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) {
        for (std::size_t i = 0; i < body.nodes.size(); ++i) {
          const OnnxNode& inner = body.nodes[i];
          check_node(
              inner, [&] { return onnx_node_text(inner, i) + " in a body of " + text(); },
              imported);
        }
      }
    }
  }

  // Those of the main graph: what is true of one is true of its kind.
  void check_nodes() {
    const Domains imported = domains_of(model_.opsets);
    const OnnxNodes& nodes = model_.graph.nodes;
    std::vector<bool> is_good(nodes.kinds().count());
    for (std::uint32_t kind = 0; kind < nodes.kinds().count(); ++kind) {
      is_good[kind] = is_sound(nodes.kinds()[kind], imported);
    }
    OnnxNode room;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (is_good[nodes.kind_number(i)] && !nodes.has_bodies(i)) continue;
      const OnnxNode& node = nodes.read_names(i, room);
      check_node(
          node, [&] { return onnx_node_text(node, i); }, imported);
    }
  }

  // Whether check_node() has nothing to say of a node of the kind, apart from its bodies.
  bool is_sound(const OnnxNodeKind& kind, const Domains& imported) const {
    const bool is_imported =
        model_.ir_version < kFirstIrWithOpsets || imported.contains(plain_domain(kind.domain));
    return is_imported && !kind.op_type.empty();
  }

  void check_functions() {
    std::unordered_map<std::string, const OnnxFunction*> seen;
    for (const OnnxFunction& function : model_.functions) {
      const std::string key = onnx_function_key(function.domain, function.name, function.overload);
      if (!seen.emplace(key, &function).second) {
        error("two functions are called " + escaped_in_quotes(function.name) + " in domain " +
              escaped_in_quotes(function.domain));
      }
      const Domains imported = domains_of(function.opsets);
      for (std::size_t i = 0; i < function.nodes.size(); ++i) {
        const OnnxNode& node = function.nodes[i];
        check_node(
            node,
            [&] {
              return onnx_node_text(node, i) + " of function " + escaped_in_quotes(function.name);
            },
            imported);
      }
    }
    check_cycle();
  }

  // "f" calls "g", "g" calls "f": no runtime can inline such calls.
  void check_cycle() {
    const std::vector<std::uint32_t> cycle = cycle_of_functions(model_);
    if (cycle.empty()) return;
    const auto name = [&](std::uint32_t i) { return escaped_in_quotes(model_.functions[i].name); };
    error("functions call each other in a cycle: " +
          capped_list(cycle, 8, name, " -> ...", " -> ") + " -> " + name(cycle.front()));
  }

  static Domains domains_of(const std::vector<std::pair<std::string_view, std::int64_t>>& imports) {
    Domains domains;
    for (const auto& [domain, version] : imports) {
      domains.insert(plain_domain(domain));
    }
    return domains;
  }

  const std::string& file_;
  const OnnxModel& model_;
  Domains missing_;  // domains already reported
  Diagnostics errors_;
  std::vector<Diagnostic> warnings_;
};

Diagnostic warning(const SourceFile& source, std::string message) {
  Diagnostic made = diagnostic_of(source.path(), std::move(message));
  made.severity = Severity::warning;
  return made;
}

// Initializers whose data next to the model is missing or incomplete, which a split will refuse, and
// compiled contexts that are not there.
std::vector<Diagnostic> faults_of_external_data(const SourceFile& source, const OnnxModel& model) {
  CappedList shown(3);
  std::vector<ByteSource> files;
  OnnxExternalFiles external(source.folder(), files);
  std::vector<Diagnostic> out;
  for (const OnnxTensor& tensor : model.graph.initializers) {
    if (!tensor.is_external || tensor.is_sparse) continue;
    const Result<ByteRange, std::string> range = external.find(tensor);
    if (range || !shown.shows_next()) continue;
    out.push_back(warning(source, "tensor " + escaped_in_quotes(tensor.name) + ": " +
                                      range.error() + "; the model cannot be written"));
  }
  if (shown.left_out() > 0) {
    out.push_back(warning(source, shown.rest("the data of # more tensor cannot be read",
                                             "the data of # more tensors cannot be read")));
  }
  WeightFiles contexts(source.folder(), files);
  for (const std::string_view name : context_files(model)) {
    const auto file = contexts.find(name);
    if (file) continue;
    out.push_back(warning(source, "the compiled context at " + escaped_in_quotes(name) + " " +
                                      file.error() + "; models that are written go without it"));
  }
  return out;
}

using OnnxModelOwner = std::unique_ptr<OnnxModel, DeleteOnnxModel>;

// The rest of reading, from the index on.
Loaded<OnnxLoaded> infer_and_make(const SourceFile& source, OnnxModelOwner model,
                                  const ShapeBindings& bindings, const Progress& progress) {
  Loaded<OnnxInferred> inferred = infer_folded_onnx(source, *model, bindings, progress);
  if (!inferred) return std::move(inferred).error();
  OnnxTypes& types = inferred->types;
  std::vector<Diagnostic> of_links = std::move(inferred->links.warnings);
  Loaded<OnnxGraphMade> made =
      make_onnx_graph(source, *model, std::move(inferred->links), types, bindings.folding);
  if (!made) return std::move(made).error();
  OnnxLoaded out{.model = std::move(model),
                 .graph = std::move(made->graph),
                 .warnings = std::move(of_links),
                 .notes = std::move(made->notes)};
  append(out.warnings, faults_of_external_data(source, *out.model));
  append(out.warnings, std::move(made->warnings));
  for (std::string& warning : types.warnings) {
    out.warnings.push_back(
        {.severity = Severity::warning, .file = source.path(), .message = std::move(warning)});
  }
  append(out.notes, std::move(inferred->notes));
  append(out.notes, std::move(types.notes));
  out.misfits = types.misfits;
  return out;
}

}  // namespace

Loaded<OnnxLoaded> read_onnx(const SourceFile& source, const ShapeBindings& bindings,
                             const ModelLimits& limits, const Progress& progress, OnnxCalls calls) {
  Loaded<OnnxModel> indexed = index_onnx(source, limits);
  if (!indexed) return std::move(indexed).error();
  OnnxModelOwner model(new OnnxModel(*std::move(indexed)));

  Checker checker(source.path(), *model);
  Diagnostics errors = checker.run();
  if (!errors.empty()) return errors;

  OnnxInlined inlined;
  if (calls == OnnxCalls::inlined) {
    ModelLimits most = limits;
    if (limits.nodes == ModelLimits{}.nodes) most.nodes = kMostInlined;
    auto made = inline_functions(*model, most.nodes);
    if (!made) {
      return Diagnostics{diagnostic_of(source.path(), "with its functions written out it has " +
                                                          beyond_limit(most, &ModelLimits::nodes))};
    }
    inlined = *std::move(made);
  }
  Loaded<OnnxLoaded> out = infer_and_make(source, std::move(model), bindings, progress);
  if (!out) return out;
  std::vector<Diagnostic> warnings = checker.take_warnings();
  append(warnings, std::move(out->warnings));
  out->warnings = std::move(warnings);
  append(out->notes, std::move(inlined.kept));
  return out;
}

Loaded<OnnxLoaded> read_onnx_again(const SourceFile& source, const OnnxModel& index,
                                   const ShapeBindings& bindings) {
  return infer_and_make(source, OnnxModelOwner(new OnnxModel(index)), bindings, {});
}

namespace {

std::string key_of(std::string_view domain, std::string_view name) {
  std::string key(plain_domain(domain));
  key.push_back('\0');
  return key.append(name);
}

}  // namespace

OnnxFunctionCalls::OnnxFunctionCalls(const OnnxModel& model) : model_(model) {
  for (std::uint32_t i = 0; i < model.functions.size(); ++i) {
    functions_[key_of(model.functions[i].domain, model.functions[i].name)].push_back(i);
  }
}

// Includes calls in the node's bodies; recurses as deep as the file nests, which its reader limits.
void OnnxFunctionCalls::add_calls(const OnnxNode& node, std::vector<std::uint32_t>& found) const {
  const auto at = functions_.find(key_of(node.domain, node.op_type));
  if (at != functions_.end()) found.insert(found.end(), at->second.begin(), at->second.end());
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      for (const OnnxNode& inner : body.nodes) add_calls(inner, found);
    }
  }
}

std::vector<std::uint32_t> OnnxFunctionCalls::needed_by(
    const std::vector<std::uint32_t>& nodes) const {
  std::vector<std::uint32_t> needed;
  if (functions_.empty()) return needed;
  std::vector<std::uint32_t> open;
  OnnxNode room;
  for (const std::uint32_t node : nodes) {
    add_calls(model_.graph.nodes.read_names(node, room), open);
  }
  std::vector<bool> seen(model_.functions.size(), false);
  while (!open.empty()) {
    const std::uint32_t function = open.back();
    open.pop_back();
    if (seen[function]) continue;
    seen[function] = true;
    needed.push_back(function);
    for (const OnnxNode& node : model_.functions[function].nodes) add_calls(node, open);
  }
  std::ranges::sort(needed);
  return needed;
}

namespace {

using Elements = std::optional<std::vector<Literal>>;

// Reads the elements from raw_data, or from typed data with the same bytes.
Elements raw_elements(const OnnxTensor& tensor) {
  const auto count = small_count(tensor.dims, kMostElementsRead);
  const auto width = static_cast<std::size_t>(dtype_bits(tensor.dtype)) / 8;
  if (!count || tensor.raw.size() != *count * width) return std::nullopt;
  return literals_of(tensor.dtype, tensor.raw, *count);
}

// Reads the elements from the fields for typed data.
Elements typed_elements(const OnnxTensor& tensor) {
  const auto found = read_onnx_elements(tensor, kMostElementsRead);
  if (!found) return std::nullopt;
  std::vector<Literal> elements;
  for (const double real : found->reals) elements.emplace_back(real);
  for (const OnnxElement& element : found->integers) {
    if (!element.value) return std::nullopt;
    elements.emplace_back(*element.value);
  }
  return elements;
}

Elements tensor_elements(const OnnxTensor& tensor) {
  if (tensor.is_external || tensor.is_sparse) return std::nullopt;
  if (tensor.raw.empty() && tensor.has_typed_data) return typed_elements(tensor);
  return raw_elements(tensor);
}

// The elements in the attribute of a Constant: value, value_int, value_ints, value_float or
// value_floats.
Elements attribute_elements(const OnnxAttribute& attribute) {
  if (attribute.name == "value" && !attribute.tensors.empty()) {
    return tensor_elements(attribute.tensors.front());
  }
  const OnnxAttributeValue value = decode_onnx_attribute(attribute);
  std::vector<Literal> elements(value.integers.begin(), value.integers.end());
  elements.insert(elements.end(), value.reals.begin(), value.reals.end());
  if (elements.empty() || elements.size() > kMostElementsRead) return std::nullopt;
  return elements;
}

}  // namespace

std::optional<std::vector<Literal>> onnx_constant_elements(const OnnxModel& model,
                                                           const Graph& graph, ValueId parameter) {
  const NodeId maker = graph.value(parameter).producer;
  if (maker == kNone<NodeId>) {
    if (index(parameter) >= model.tensor_index.size()) return std::nullopt;
    const std::uint32_t at = model.tensor_index[index(parameter)];
    if (at >= model.graph.initializers.size()) return std::nullopt;
    return tensor_elements(model.graph.initializers[at]);
  }
  if (graph.op(maker) != "Constant" || index(maker) >= model.node_index.size()) return std::nullopt;
  OnnxNode room;
  const OnnxNode& node = model.graph.nodes.read(model.node_index[index(maker)], room);
  if (node.attributes.size() != 1) return std::nullopt;
  return attribute_elements(node.attributes.front());
}

}  // namespace cleave
