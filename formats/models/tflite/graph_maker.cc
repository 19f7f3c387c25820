#include "formats/models/tflite/graph_maker.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/state.h"
#include "formats/models/tflite/tensor_type.h"

namespace cleave {
namespace {

class AttributeMaker {
 public:
  AttributeMaker(GraphBuilder& builder, const FlatTable& options)
      : builder_(builder), options_(options) {}

  void add(SchemaFieldId id) {
    const SchemaField& field = kSchemaFields[id];
    const NameId name = builder_.intern(field.name);
    if (field.is_vector) return add_vector(id, name);
    switch (field.kind) {
      case SchemaKind::boolean:
        return add_integer(name, options_.integer(id), AttributeType::boolean);
      case SchemaKind::integer:
        return add_integer(name, options_.integer(id), AttributeType::integer);
      case SchemaKind::enumeration:
        return add_enumerator(id, name);
      case SchemaKind::real: {
        const double real = options_.real(id);
        return builder_.add_attribute(name, std::span(&real, 1), AttributeType::real);
      }
      case SchemaKind::string: {
        if (!options_.has(id)) return;
        const std::string_view text = options_.bytes(id);
        return builder_.add_attribute(name, std::span(&text, 1), AttributeType::string);
      }
      default:
        if (options_.has(id)) builder_.add_opaque_attribute(name);
    }
  }

 private:
  void add_integer(NameId name, std::int64_t value, AttributeType type) {
    builder_.add_attribute(name, std::span<const std::int64_t>(&value, 1), type);
  }

  void add_enumerator(SchemaFieldId id, NameId name) {
    const std::int64_t value = options_.integer(id);
    std::string_view text = enumerator_name(kSchemaFields[id].type, value);
    if (text.empty()) text = builder_.keep(std::to_string(value));
    builder_.add_attribute(name, std::span(&text, 1), AttributeType::string);
  }

  void add_vector(SchemaFieldId id, NameId name) {
    const SchemaField& field = kSchemaFields[id];
    if (!options_.has(id)) return;
    if (field.kind == SchemaKind::integer && field.width == 4)
      return add_integers<std::int32_t>(id, name);
    if (field.kind == SchemaKind::integer && field.width == 8)
      return add_integers<std::int64_t>(id, name);
    if (field.kind == SchemaKind::boolean) return add_integers<std::uint8_t>(id, name);
    if (field.kind != SchemaKind::real || field.width != 4)
      return builder_.add_opaque_attribute(name);
    const auto numbers = options_.numbers<float>(id);
    std::vector<double> reals;
    for (std::uint32_t i = 0; i < numbers.size(); ++i) reals.push_back(double{numbers[i]});
    builder_.add_attribute(name, std::span<const double>(reals), AttributeType::reals);
  }

  template <class T>
  void add_integers(SchemaFieldId id, NameId name) {
    const auto numbers = options_.numbers<T>(id);
    std::vector<std::int64_t> integers;
    for (std::uint32_t i = 0; i < numbers.size(); ++i) integers.push_back(numbers[i]);
    builder_.add_attribute(name, std::span<const std::int64_t>(integers), AttributeType::integers);
  }

  GraphBuilder& builder_;
  const FlatTable& options_;
};

}  // namespace

void add_tflite_attributes(GraphBuilder& builder, const TfliteModel& model,
                           const TfliteOperator& op) {
  const SchemaTableId type = op.options.is_absent()
                                 ? kSchemaOperators[model.code_of(op).builtin].options
                                 : op.options.type();
  if (type != kNoSchema) {
    AttributeMaker maker(builder, op.options);
    const SchemaTable& table = kSchemaTables[type];
    for (SchemaFieldId f = table.first; f < table.first + table.count; ++f) maker.add(f);
  }
  if (op.table.has(tfl::op::custom_options)) {
    builder.add_opaque_attribute(builder.intern("custom_options"));
  }
}

namespace {

constexpr std::size_t kNodesBetweenTold = 4096;
constexpr std::string_view kDomain = "tflite";
constexpr std::string_view kCustomDomain = "tflite.custom";
constexpr std::string_view kFirstAxis = "N";
constexpr std::int64_t kMostSize =
    std::numeric_limits<std::int32_t>::max();  // of a dim in the file

class TfliteGraphMaker {
 public:
  TfliteGraphMaker(TfliteModel& model, ShapeBinder& binder)
      : model_(model), graph_(model.subgraph()), state_(model.state), binder_(binder) {
    for (const TfliteSubgraph& subgraph : model.subgraphs) {
      most_body_nodes_ += 16 * subgraph.operators.size();
    }
  }

  Result<TfliteGraph, std::vector<GraphFault>> make(const Progress& progress) {
    builder_.set_name(model_.name);
    builder_.add_opset(kDomain, 3);
    handles_.assign(graph_.tensors.size(), kNoTflite);
    add_inputs();
    add_parameters();
    const std::size_t count = graph_.operators.size();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i % kNodesBetweenTold == 0) tell(progress, {"reading", "nodes", i, count});
      if (state_.is_hidden[i] == 0) add_node(i);
    }
    add_outputs();
    if (!faults_.empty()) return std::move(faults_);
    auto graph = builder_.finish();
    if (!graph) return std::move(graph).error();
    fill_tables(*graph);
    keep_bound_shapes();
    return TfliteGraph{*std::move(graph), std::move(traced_)};
  }

 private:
  static std::uint32_t number(std::int32_t tensor) { return static_cast<std::uint32_t>(tensor); }
  void fail(std::string message) {
    faults_.push_back({GraphFault::Kind::unknown_value, std::move(message), {}, {}, {}, {}});
  }

  // The first axis of all values is one symbol, the batch; any other that is open is its own.
  static std::string symbol_of(const TfliteTensor& tensor, std::uint32_t axis) {
    return axis == 0 ? std::string(kFirstAxis)
                     : std::string(tensor.name) + ":" + std::to_string(axis);
  }

  static bool is_open(const TfliteTensor& tensor, std::uint32_t axis) {
    const FlatInts open = tensor.table.ints(tfl::tensor::signature);
    return open.size() == tensor.shape.size() && open[axis] < 0;
  }

  Dim dim_of(const TfliteTensor& tensor, std::uint32_t axis, std::int32_t size) {
    const std::string symbol = symbol_of(tensor, axis);
    if (const auto bound = binder_.size_of(symbol)) {
      bound_.emplace(symbol,
                     static_cast<std::int32_t>(std::clamp<std::int64_t>(*bound, 0, kMostSize)));
      return Dim::fixed(*bound);
    }
    traced_.emplace(symbol, size);
    return Dim::symbol(builder_.intern(symbol), size);
  }

  ValueDecl declaration_of(const TfliteTensor& tensor) {
    ValueDecl decl{.name = tensor.name, .dtype = tflite_dtype(tensor.type)};
    if (!is_tensor_type(tensor.type)) return decl;
    decl.type = ValueType::tensor;
    shape_.clear();
    for (std::uint32_t i = 0; i < tensor.shape.size(); ++i) {
      const std::int32_t size = tensor.shape[i];
      shape_.push_back(is_open(tensor, i) ? dim_of(tensor, i, size) : Dim::fixed(size));
    }
    decl.shape = builder_.intern_shape(shape_);
    return decl;
  }

  static SourceSpan span_of(const FlatTable& table) { return {table.at(), table.size()}; }

  void define(std::uint32_t tensor, ValueHandle handle) {
    handles_[tensor] = static_cast<std::uint32_t>(handle);
    const std::size_t at = handles_[tensor];
    if (at >= tensor_of_handle_.size()) tensor_of_handle_.resize(at + 1, kNoTflite);
    tensor_of_handle_[at] = tensor;
  }

  void add_input(std::uint32_t tensor) {
    if (handles_[tensor] != kNoTflite) return;
    const TfliteTensor& input = graph_.tensors[tensor];
    binder_.shape_of(input.name);
    define(tensor, builder_.add_input(declaration_of(input), span_of(input.table)));
  }

  void add_inputs() {
    for (std::uint32_t i = 0; i < graph_.inputs.size(); ++i) add_input(number(graph_.inputs[i]));
    for (const TfliteVariable& variable : state_.variables) {
      if (variable.read != kNoTflite) add_input(variable.value);
    }
  }

  // Data of the file, and variables of operators, that nodes, constants or outputs read.
  void add_parameters() {
    std::vector<std::uint8_t> is_read(graph_.tensors.size(), 0);
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      if (state_.is_hidden[i] != 0) continue;
      const FlatInts& inputs = graph_.operators[i].inputs;
      for (std::uint32_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k] >= 0) is_read[state_.read_as[number(inputs[k])]] = 1;
      }
    }
    for (std::uint32_t k = 0; k < graph_.outputs.size(); ++k) {
      is_read[state_.read_as[number(graph_.outputs[k])]] = 1;
    }
    for (const TfliteVariable& variable : state_.variables) {
      if (variable.newest != kNoTflite) is_read[variable.newest] = 1;
    }
    std::vector<std::uint32_t> first_of_buffer(model_.buffers.size(), kNoTflite);
    std::unordered_map<std::uint32_t, std::uint32_t> first_of_external;
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t) {
      const TfliteTensor& tensor = graph_.tensors[t];
      const bool is_variable = tensor.is_variable && tensor.maker == kNoTflite && !tensor.is_input;
      if (is_read[t] == 0 || handles_[t] != kNoTflite || (!is_stored(tensor) && !is_variable))
        continue;
      define(t, builder_.add_parameter(declaration_of(tensor), span_of(tensor.table)));
      const bool is_inside =
          tensor.buffer < model_.buffers.size() && model_.buffers[tensor.buffer].size > 0;
      if (tensor.external == 0 && !is_inside) continue;
      std::uint32_t& first =
          tensor.external == 0
              ? first_of_buffer[tensor.buffer]
              : first_of_external.try_emplace(tensor.external, kNoTflite).first->second;
      if (first == kNoTflite) {
        first = t;
      } else {
        builder_.set_alias(ValueHandle{handles_[t]}, ValueHandle{handles_[first]});
      }
    }
  }

  NodeDecl node_decl(const TfliteOperator& op, std::string_view name) {
    const TfliteCode& code = model_.code_of(op);
    return {.name = name,
            .op = code.name,
            .domain = code.is_custom ? kCustomDomain : kDomain,
            .scope = scope_of(name),
            .source = span_of(op.table)};
  }

  // Converters join the names of operators that they fuse: "net/conv/Relu6;net/conv/Conv2D". The
  // scope is the path of the first.
  std::string_view scope_of(std::string_view name) {
    const std::string_view first = name.substr(0, name.find(';'));
    const std::size_t end = first.rfind('/');
    if (end == std::string_view::npos || end == 0) return {};
    if (path_ == first.substr(0, end)) return scope_;
    path_ = first.substr(0, end);
    std::string dotted(path_);
    std::replace(dotted.begin(), dotted.end(), '/', '.');
    scope_ = builder_.keep(dotted);
    return scope_;
  }

  // Of an operator without outputs: its op and number.
  std::string_view made_name(const TfliteOperator& op, std::uint32_t i) {
    if (taken_.empty()) {
      for (const TfliteTensor& tensor : graph_.tensors) taken_.insert(tensor.name);
    }
    std::string name = std::string(model_.code_of(op).name) + "_" + std::to_string(i);
    while (taken_.contains(name)) name += "_";
    return *taken_.insert(model_.names.keep(name)).first;
  }

  void add_node(std::uint32_t i) {
    const TfliteOperator& op = graph_.operators[i];
    const std::string_view name =
        op.outputs.empty() ? made_name(op, i) : graph_.tensors[number(op.outputs[0])].name;
    const NodeDecl decl = node_decl(op, name);
    const bool is_constant = model_.is_constant[i] != 0;
    const NodeHandle handle = is_constant ? builder_.add_constant(decl) : builder_.add_node(decl);
    operator_of_handle_.resize(static_cast<std::size_t>(handle) + 1, kNoTflite);
    operator_of_handle_.back() = i;
    code_of_handle_.push_back(op.code);
    for (std::uint32_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] < 0) continue;
      const std::uint32_t value = handles_[state_.read_as[number(op.inputs[k])]];
      // Memory that the operator only works in is no value.
      if (value != kNoTflite) builder_.add_operand(ValueHandle{value}, OperandSlot::positional(k));
    }
    for (std::uint32_t k = 0; k < op.outputs.size(); ++k) {
      const std::uint32_t tensor = number(op.outputs[k]);
      define(tensor, builder_.add_output(declaration_of(graph_.tensors[tensor]), k));
    }
    add_tflite_attributes(builder_, model_, op);
    if (!is_constant) add_bodies(op, handle);
  }

  // The subgraphs that the operator calls, and those that they call, each once.
  void add_bodies(const TfliteOperator& owner, NodeHandle handle) {
    std::unordered_set<std::int64_t> seen;
    std::vector<std::pair<std::int64_t, std::string>> open;
    const auto call = [&](const TfliteOperator& op, const std::string& path) {
      for (const TfliteBody& body : bodies_of(op)) {
        if (!seen.insert(body.subgraph).second) continue;
        open.emplace_back(body.subgraph, path + std::string(kSchemaFields[body.field].name));
      }
    };
    call(owner, "");
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto subgraph = static_cast<std::uint32_t>(open[i].first);
      const std::string path = open[i].second;
      add_body(subgraph, builder_.keep(path), handle);
      for (const TfliteOperator& op : model_.subgraphs[subgraph].operators) call(op, path + "/");
    }
  }

  void add_body(std::uint32_t subgraph, std::string_view path, NodeHandle owner) {
    const TfliteSubgraph& body = model_.subgraphs[subgraph];
    body_nodes_ += body.operators.size();
    if (body_nodes_ > most_body_nodes_ + 4096) {
      if (faults_.empty()) {
        fail("its operators share bodies: together these have more than " +
             count_text(most_body_nodes_) + " nodes");
      }
      return;
    }
    const std::vector<std::uint8_t> is_constant = tflite_constants(model_, subgraph);
    std::vector<std::uint32_t> locals(body.tensors.size(), kNoTflite);
    const auto local_of = [&](std::int32_t tensor) {
      std::uint32_t& local = locals[number(tensor)];
      if (local == kNoTflite) {
        local = static_cast<std::uint32_t>(
            builder_.add_local_value(declaration_of(body.tensors[number(tensor)])));
      }
      return ValueHandle{local};
    };
    for (std::uint32_t i = 0; i < body.operators.size(); ++i) {
      if (is_constant[i] != 0) continue;
      const TfliteOperator& op = body.operators[i];
      const std::string_view first =
          op.outputs.empty() ? std::string_view{} : body.tensors[number(op.outputs[0])].name;
      NodeDecl decl =
          node_decl(op, first.empty() ? model_.names.keep(std::string(model_.code_of(op).name) +
                                                          "_" + std::to_string(i))
                                      : first);
      decl.target = path;
      builder_.add_body_node(decl, owner);
      code_of_handle_.push_back(op.code);
      for (std::uint32_t k = 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] < 0) continue;
        builder_.add_operand(local_of(op.inputs[k]), OperandSlot::positional(k));
      }
      for (std::uint32_t k = 0; k < op.outputs.size(); ++k) {
        builder_.add_body_output(local_of(op.outputs[k]));
      }
      add_tflite_attributes(builder_, model_, op);
    }
  }

  void add_output(std::uint32_t tensor) {
    if (handles_[tensor] == kNoTflite) {
      return fail("its output " + escaped_in_quotes(graph_.tensors[tensor].name) +
                  " is made by nothing");
    }
    builder_.add_graph_output(ValueHandle{handles_[tensor]}, {});
  }

  void add_outputs() {
    for (std::uint32_t k = 0; k < graph_.outputs.size(); ++k) {
      add_output(state_.read_as[number(graph_.outputs[k])]);
    }
    for (const TfliteVariable& variable : state_.variables) {
      if (variable.newest != kNoTflite) add_output(variable.newest);
    }
  }

  void fill_tables(const Graph& graph) {
    model_.operators.assign(graph.node_count() + graph.constants().size(), kNoTflite);
    const std::span<const NodeId> nodes = builder_.node_ids();
    for (std::size_t i = 0; i < operator_of_handle_.size(); ++i) {
      if (operator_of_handle_[i] != kNoTflite)
        model_.operators[index(nodes[i])] = operator_of_handle_[i];
    }
    model_.code_of_node.assign(nodes.size(), 0);
    for (std::size_t i = 0; i < code_of_handle_.size(); ++i) {
      model_.code_of_node[index(nodes[i])] = code_of_handle_[i];
    }
    model_.tensors.assign(graph.value_count(), kNoTflite);
    model_.values.assign(graph_.tensors.size(), kNone<ValueId>);
    const std::span<const ValueId> values = builder_.value_ids();
    for (std::size_t i = 0; i < tensor_of_handle_.size(); ++i) {
      if (tensor_of_handle_[i] == kNoTflite) continue;
      model_.tensors[index(values[i])] = tensor_of_handle_[i];
      model_.values[tensor_of_handle_[i]] = values[i];
    }
  }

  // What is written has the sizes that were bound, also in bodies.
  void keep_bound_shapes() {
    if (bound_.empty()) return;
    for (TfliteSubgraph& graph : model_.subgraphs) {
      for (TfliteTensor& tensor : graph.tensors) {
        std::vector<std::int32_t> shape;
        bool is_bound = false;
        for (std::uint32_t i = 0; i < tensor.shape.size(); ++i) {
          shape.push_back(tensor.shape[i]);
          if (!is_open(tensor, i)) continue;
          const auto size = bound_.find(symbol_of(tensor, i));
          shape.back() = size == bound_.end() ? -1 : size->second;
          is_bound = is_bound || size != bound_.end();
        }
        if (is_bound) tensor.bound = std::move(shape);
      }
    }
  }

  TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const TfliteState& state_;
  ShapeBinder& binder_;
  GraphBuilder builder_;
  std::vector<std::uint32_t> handles_;  // by tensor
  std::vector<std::uint32_t> operator_of_handle_, tensor_of_handle_;
  std::vector<std::uint32_t> code_of_handle_;  // nodes, constants and nodes of bodies
  std::vector<Dim> shape_;
  std::map<std::string, std::int64_t, std::less<>> traced_;
  std::map<std::string, std::int32_t, std::less<>> bound_;  // sizes of symbols
  std::vector<GraphFault> faults_;
  std::unordered_set<std::string_view> taken_;
  std::string_view path_, scope_;
  std::size_t body_nodes_ = 0, most_body_nodes_ = 0;
};

}  // namespace

Result<TfliteGraph, std::vector<GraphFault>> make_tflite_graph(TfliteModel& model,
                                                               ShapeBinder& binder,
                                                               const Progress& progress) {
  return TfliteGraphMaker(model, binder).make(progress);
}

}  // namespace cleave
