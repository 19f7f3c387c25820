// Makes a graph of a TensorFlow Lite model: subgraphs, variables, operators.

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/tflite/internal.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- state ----

namespace {

constexpr std::uint32_t kVarHandle = schema_operator("VAR_HANDLE");
constexpr std::uint32_t kReadVariable = schema_operator("READ_VARIABLE");
constexpr std::uint32_t kAssignVariable = schema_operator("ASSIGN_VARIABLE");
constexpr std::uint32_t kCallOnce = schema_operator("CALL_ONCE");
constexpr std::array kTables = {schema_operator("HASHTABLE"), schema_operator("HASHTABLE_FIND"),
                                schema_operator("HASHTABLE_IMPORT"),
                                schema_operator("HASHTABLE_SIZE")};
constexpr std::array kChance = {
    schema_operator("RANDOM_UNIFORM"), schema_operator("RANDOM_STANDARD_NORMAL"),
    schema_operator("MULTINOMIAL"), schema_operator("STABLEHLO_RNG_BIT_GENERATOR")};

using Key = std::pair<std::string_view, std::string_view>;  // container, shared name

Key key_of(const TfliteOperator& handle) {
  if (handle.options.type() != schema_table("VarHandleOptions")) return {};
  return {handle.options.bytes(tfl::variable::container),
          handle.options.bytes(tfl::variable::shared_name)};
}

bool is_one_of(const TfliteModel& model, const TfliteOperator& op, const auto& codes) {
  return std::ranges::any_of(codes, [&](std::uint32_t code) { return model.is_builtin(op, code); });
}

bool is_of_variable(const TfliteModel& model, const TfliteOperator& op) {
  return is_one_of(model, op, std::array{kVarHandle, kReadVariable, kAssignVariable, kCallOnce});
}

// By subgraph: whether it, or one that it calls, has operators on variables or tables.
std::vector<std::uint8_t> find_stateful_subgraphs(const TfliteModel& model) {
  const std::size_t count = model.subgraphs.size();
  std::vector<std::uint8_t> is_stateful(count, 0);
  std::vector<std::vector<std::uint32_t>> callers(count);
  std::vector<std::uint32_t> found;
  for (std::uint32_t g = 0; g < count; ++g) {
    for (const TfliteOperator& op : model.subgraphs[g].operators) {
      if (is_of_variable(model, op) || is_one_of(model, op, kTables)) is_stateful[g] = 1;
      if (model.is_builtin(op, kCallOnce)) continue;
      for (const TfliteBody& body : bodies_of(op)) {
        callers[static_cast<std::size_t>(body.subgraph)].push_back(g);
      }
    }
    if (is_stateful[g] != 0) found.push_back(g);
  }
  while (!found.empty()) {
    const std::uint32_t g = found.back();
    found.pop_back();
    for (const std::uint32_t caller : callers[g]) {
      if (std::exchange(is_stateful[caller], std::uint8_t{1}) == 0) found.push_back(caller);
    }
  }
  return is_stateful;
}

class StateFinder {
 public:
  explicit StateFinder(TfliteModel& model)
      : model_(model), graph_(model.subgraph()), state_(model.state) {}

  void find() {
    const std::size_t tensors = graph_.tensors.size();
    state_.read_as.resize(tensors);
    for (std::uint32_t t = 0; t < tensors; ++t) state_.read_as[t] = t;
    state_.is_hidden.assign(graph_.operators.size(), 0);
    find_whole();
    state_.is_value = state_.is_value && follow_handles();
    if (!state_.is_value) return keep_operators();
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) read_operator(i);
    const auto is_unused = [](const TfliteVariable& variable) {
      return variable.read == kNoTflite && variable.assign == kNoTflite;
    };
    std::erase_if(state_.variables, is_unused);
    for (TfliteVariable& variable : state_.variables) {
      variable.name =
          graph_.tensors[variable.read != kNoTflite ? variable.value : variable.newest].name;
    }
  }

 private:
  static std::uint32_t number(std::int32_t tensor) { return static_cast<std::uint32_t>(tensor); }
  std::uint32_t variable_of(std::uint32_t operator_number) const {
    const TfliteOperator& op = graph_.operators[operator_number];
    if (op.inputs.empty() || op.inputs[0] < 0) return kNoTflite;
    return by_handle_[number(op.inputs[0])];
  }

  // Operators with state that are not a plain read or write stay in one partition.
  void find_whole() {
    const std::vector<std::uint8_t> is_stateful = find_stateful_subgraphs(model_);
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      const TfliteOperator& op = graph_.operators[i];
      if (is_one_of(model_, op, kTables)) state_.whole.push_back(i);
      if (model_.is_builtin(op, kCallOnce)) continue;
      const std::vector<TfliteBody> bodies = bodies_of(op);
      const bool has_state = std::ranges::any_of(bodies, [&](const TfliteBody& body) {
        return is_stateful[static_cast<std::size_t>(body.subgraph)] != 0;
      });
      if (!has_state) continue;
      state_.is_value = false;
      state_.whole.push_back(i);
    }
  }

  // False when a handle goes elsewhere than to a read or a write, or comes from elsewhere.
  bool follow_handles() {
    by_handle_.assign(graph_.tensors.size(), kNoTflite);
    std::map<Key, std::uint32_t> known;
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      const TfliteOperator& op = graph_.operators[i];
      if (model_.is_builtin(op, kVarHandle)) {
        if (op.outputs.size() != 1) return false;
        const Key key = key_of(op);
        const auto [at, is_new] =
            known.try_emplace(key, static_cast<std::uint32_t>(state_.variables.size()));
        if (is_new) {
          state_.variables.push_back(
              {.container = key.first, .shared_name = key.second, .name = {}, .handle = i});
        }
        by_handle_[number(op.outputs[0])] = at->second;
        continue;
      }
      const bool reads = model_.is_builtin(op, kReadVariable);
      const bool writes = model_.is_builtin(op, kAssignVariable);
      if (reads && (op.inputs.size() != 1 || op.outputs.size() != 1)) return false;
      if (writes && (op.inputs.size() != 2 || op.inputs[1] < 0)) return false;
      if ((reads || writes) && variable_of(i) == kNoTflite) return false;
      for (std::uint32_t k = reads || writes ? 1 : 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] >= 0 && by_handle_[number(op.inputs[k])] != kNoTflite) return false;
      }
    }
    for (std::uint32_t k = 0; k < graph_.outputs.size(); ++k) {
      if (by_handle_[number(graph_.outputs[k])] != kNoTflite) return false;
    }
    return follow_calls(known);
  }

  // Which operator of a CALL_ONCE's subgraph sets up which variable.
  bool follow_calls(const std::map<Key, std::uint32_t>& known) {
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      if (!model_.is_builtin(graph_.operators[i], kCallOnce)) continue;
      for (const TfliteBody& body : bodies_of(graph_.operators[i])) {
        const TfliteSubgraph& init = model_.subgraphs[static_cast<std::size_t>(body.subgraph)];
        std::map<std::int32_t, Key> handles;
        for (std::uint32_t k = 0; k < init.operators.size(); ++k) {
          const TfliteOperator& op = init.operators[k];
          if (is_one_of(model_, op, kTables)) return false;
          if (model_.is_builtin(op, kVarHandle) && op.outputs.size() == 1) {
            handles[op.outputs[0]] = key_of(op);
          }
          if (!model_.is_builtin(op, kAssignVariable)) continue;
          if (op.inputs.size() != 2 || op.inputs[1] < 0 || !handles.contains(op.inputs[0])) {
            return false;
          }
          const auto variable = known.find(handles[op.inputs[0]]);
          if (variable == known.end()) continue;  // nothing here uses it
          state_.variables[variable->second].init_call = i;
          state_.variables[variable->second].init_assign = k;
        }
      }
    }
    return true;
  }

  void keep_operators() {
    state_.variables.clear();
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      if (is_of_variable(model_, graph_.operators[i])) state_.whole.push_back(i);
    }
    std::ranges::sort(state_.whole);
  }

  void read_operator(std::uint32_t i) {
    const TfliteOperator& op = graph_.operators[i];
    if (is_of_variable(model_, op)) state_.is_hidden[i] = 1;
    if (model_.is_builtin(op, kReadVariable)) {
      TfliteVariable& variable = state_.variables[variable_of(i)];
      const std::uint32_t made = number(op.outputs[0]);
      if (variable.newest != kNoTflite) {
        state_.read_as[made] = variable.newest;
      } else if (variable.read != kNoTflite) {
        state_.read_as[made] = variable.value;
      } else {
        variable.read = i;
        variable.value = made;
      }
    } else if (model_.is_builtin(op, kAssignVariable)) {
      TfliteVariable& variable = state_.variables[variable_of(i)];
      variable.assign = i;
      variable.newest = state_.read_as[number(op.inputs[1])];
    }
  }

  TfliteModel& model_;
  const TfliteSubgraph& graph_;
  TfliteState& state_;
  std::vector<std::uint32_t> by_handle_;  // by tensor: the variable whose handle it is
};

}  // namespace

void find_tflite_state(TfliteModel& model) { StateFinder(model).find(); }

bool is_stored(const TfliteTensor& tensor) {
  return tensor.maker == kNoTflite && !tensor.is_input && !tensor.is_variable && tensor.has_data;
}

namespace {

// By operator: whether it is constant. `reads_as`: the tensor that one is read as; `is_hidden`: operators
// to leave out.
std::vector<std::uint8_t> find_constants(const TfliteModel& model, const TfliteSubgraph& graph,
                                         const auto& reads_as, const auto& is_hidden) {
  std::vector<std::uint8_t> found(graph.operators.size(), 0);
  for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
    const TfliteOperator& op = graph.operators[i];
    if (is_hidden(i)) continue;
    if (model.code_of(op).is_custom || op.outputs.empty() || is_of_variable(model, op)) continue;
    if (is_one_of(model, op, kTables) || is_one_of(model, op, kChance)) continue;
    if (!bodies_of(op).empty()) continue;
    std::uint32_t given = 0;
    bool is_constant = true;
    for (std::uint32_t k = 0; k < op.inputs.size() && is_constant; ++k) {
      if (op.inputs[k] < 0) continue;
      ++given;
      const TfliteTensor& tensor =
          graph.tensors[reads_as(static_cast<std::uint32_t>(op.inputs[k]))];
      is_constant = tensor.maker == kNoTflite ? is_stored(tensor) : found[tensor.maker] != 0;
    }
    found[i] = is_constant && given > 0 ? 1 : 0;
  }
  return found;
}

}  // namespace

std::vector<std::uint8_t> tflite_constants(const TfliteModel& model, std::uint32_t subgraph) {
  const bool is_main = subgraph == model.main;
  return find_constants(
      model, model.subgraphs[subgraph],
      [&](std::uint32_t tensor) { return is_main ? model.state.read_as[tensor] : tensor; },
      [&](std::uint32_t op) { return is_main && model.state.is_hidden[op] != 0; });
}

bool computes_anything(const TfliteModel& model, std::uint32_t subgraph) {
  const TfliteSubgraph& graph = model.subgraphs[subgraph];
  const std::vector<std::uint8_t> is_constant = find_constants(
      model, graph, [](std::uint32_t tensor) { return tensor; },
      [](std::uint32_t) { return false; });
  for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
    if (is_constant[i] == 0 && !is_of_variable(model, graph.operators[i])) return true;
  }
  return false;
}

// ---- graph maker ----

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
constexpr std::int64_t kMostSize =
    std::numeric_limits<std::int32_t>::max();  // of a dim in the file

class TfliteGraphMaker {
 public:
  TfliteGraphMaker(TfliteModel& model, ShapeBinder& binder)
      : model_(model),
        graph_(model.subgraph()),
        state_(model.state),
        binder_(binder),
        sizes_(model, binder) {
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
    keep_known_shapes();
    return TfliteGraph{*std::move(graph), std::move(traced_), unknown_dims_, unknown_dim_};
  }

 private:
  static std::uint32_t number(std::int32_t tensor) { return static_cast<std::uint32_t>(tensor); }
  void fail(std::string message) {
    faults_.push_back({GraphFault::Kind::unknown_value, std::move(message), {}, {}, {}, {}});
  }

  Dim dim_of(const TfliteSizes::Size& size) {
    if (size.size < 0) return {};
    if (size.symbol.empty()) return Dim::fixed(size.size);
    if (size.is_given) traced_.emplace(size.symbol, size.size);
    return Dim::symbol(builder_.intern(size.symbol), size.size);
  }

  ValueDecl declaration_of(std::uint32_t tensor) { return declaration_of(model_.main, tensor); }
  ValueDecl declaration_of(std::uint32_t subgraph, std::uint32_t tensor) {
    const TfliteTensor& of = model_.subgraphs[subgraph].tensors[tensor];
    ValueDecl decl{.name = of.name, .dtype = tflite_dtype(of.type)};
    if (!is_tensor_type(of.type)) return decl;
    decl.type = ValueType::tensor;
    shape_.clear();
    for (const TfliteSizes::Size& size : sizes_.of(subgraph, tensor)) {
      if (size.size < 0 && unknown_dims_++ == 0) {
        unknown_dim_ = size_symbol(of, shape_.size(), false);
      }
      shape_.push_back(dim_of(size));
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
    define(tensor, builder_.add_input(declaration_of(tensor), span_of(input.table)));
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
      define(t, builder_.add_parameter(declaration_of(t), span_of(tensor.table)));
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
    std::ranges::replace(dotted, '/', '.');
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
      define(tensor, builder_.add_output(declaration_of(tensor), k));
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
            builder_.add_local_value(declaration_of(subgraph, number(tensor))));
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

  // What is written has the sizes that are known, also in bodies.
  void keep_known_shapes() {
    if (sizes_.is_as_in_file()) return;
    for (std::uint32_t g = 0; g < model_.subgraphs.size(); ++g) {
      std::vector<TfliteTensor>& tensors = model_.subgraphs[g].tensors;
      for (std::uint32_t t = 0; t < tensors.size(); ++t) {
        const std::vector<TfliteSizes::Size> sizes = sizes_.of(g, t);
        if (sizes.size() != tensors[t].shape.size()) continue;
        std::vector<std::int32_t> shape;
        bool is_news = false;
        for (std::uint32_t i = 0; i < sizes.size(); ++i) {
          const bool is_fixed = sizes[i].size >= 0 && sizes[i].symbol.empty();
          const auto size = static_cast<std::int32_t>(std::min(sizes[i].size, kMostSize));
          shape.push_back(is_fixed ? size : -1);
          is_news =
              is_news || (is_fixed && (is_open_axis(tensors[t], i) || size != tensors[t].shape[i]));
        }
        if (is_news) tensors[t].bound = std::move(shape);
      }
    }
  }

  TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const TfliteState& state_;
  ShapeBinder& binder_;
  TfliteSizes sizes_;
  GraphBuilder builder_;
  std::vector<std::uint32_t> handles_;  // by tensor
  std::vector<std::uint32_t> operator_of_handle_, tensor_of_handle_;
  std::vector<std::uint32_t> code_of_handle_;  // nodes, constants and nodes of bodies
  std::vector<Dim> shape_;
  std::map<std::string, std::int64_t, std::less<>> traced_;
  std::size_t unknown_dims_ = 0;
  std::string unknown_dim_;
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
