#include "formats/models/tflite/write/part_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/model_reader.h"

namespace cleave {
namespace {

constexpr std::uint32_t kComposite = schema_operator("STABLEHLO_COMPOSITE");
constexpr std::int64_t kPlaceholder = 127;  // the old byte of an operator code that is larger
// A FlexBuffer that is an empty map. LiteRT wants the attributes of a composite to be there.
constexpr std::string_view kEmptyMap("\0\0\1\0\0\x24\1", 7);

std::string_view name_of(const FlatTable& metadata) { return metadata.bytes(tfl::metadata::name); }

// Writes sizes that options set; dims that stay open are -1 in the signature of the shape.
void set_bound_shape(OutTable& table, const TfliteTensor& tensor) {
  if (tensor.bound.empty()) return;
  std::vector<std::int32_t> shape = tensor.bound;
  bool is_open = false;
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) continue;
    shape[i] = tensor.shape[i];
    is_open = true;
  }
  table.set(tfl::tensor::shape, std::move(shape));
  if (is_open) {
    table.set(tfl::tensor::signature, tensor.bound);
  } else {
    table.drop(tfl::tensor::signature);
  }
}

}  // namespace

FileBuilder::FileBuilder(const TfliteModel& source, std::string description)
    : source_(source), description_(std::move(description)) {
  buffers_.emplace_back(schema_table("Buffer"));  // number 0 is "no data"
  code_numbers_.assign(source.codes.size(), kNoTflite);
  buffer_numbers_.assign(source.buffers.size(), kNoTflite);
  body_numbers_.assign(source.subgraphs.size(), kNoTflite);
}

FileBuilder::SubgraphId FileBuilder::add_subgraph(std::string name) {
  subgraphs_.emplace_back(std::move(name));
  return static_cast<SubgraphId>(subgraphs_.size() - 1);
}

std::int64_t FileBuilder::code(std::uint32_t source) {
  std::uint32_t& number = code_numbers_[source];
  if (number == kNoTflite) {
    number = static_cast<std::uint32_t>(codes_.size());
    codes_.emplace_back(source_.walk.root.tables(tfl::model::operator_codes)[source]);
  }
  return number;
}

std::int64_t FileBuilder::add_buffer(const TfliteBytes& bytes) {
  OutTable table(schema_table("Buffer"));
  table.set(tfl::buffer::data, bytes);
  buffers_.push_back(std::move(table));
  return static_cast<std::int64_t>(buffers_.size() - 1);
}

std::int64_t FileBuilder::buffer(std::uint32_t source) {
  if (source >= source_.buffers.size() || source_.buffers[source].size == 0) return 0;
  std::uint32_t& number = buffer_numbers_[source];
  if (number == kNoTflite) {
    number = static_cast<std::uint32_t>(add_buffer(source_.buffers[source]));
  }
  return number;
}

// Weights in another file become a buffer of this one.
std::int64_t FileBuilder::buffer_of(const TfliteTensor& tensor) {
  if (tensor.external == 0) return buffer(tensor.buffer);
  const auto known = external_numbers_.find(tensor.external);
  if (known != external_numbers_.end()) return known->second;
  const std::int64_t number = add_buffer(source_.external.at(tensor.external).bytes);
  external_numbers_.emplace(tensor.external, number);
  return number;
}

std::int32_t FileBuilder::add_named_tensor(SubgraphId to, std::uint32_t from, std::uint32_t number,
                                           std::string_view name) {
  const TfliteTensor& tensor = source_.subgraphs[from].tensors[number];
  OutTable table(tensor.table);
  if (scales_of_no_axis(tensor) == 1) {
    OutTable quantization(tensor.table.table(tfl::tensor::quantization));
    quantization.drop(tfl::quantization::dimension);
    table.set(tfl::tensor::quantization, std::move(quantization));
  }
  set_bound_shape(table, tensor);
  table.set(tfl::tensor::name, name);
  table.set(tfl::tensor::buffer, buffer_of(tensor));
  if (tensor.external != 0) table.drop(tfl::tensor::external_buffer);
  OutSubgraph& subgraph = subgraphs_[to];
  subgraph.tensors_.push_back(std::move(table));
  return static_cast<std::int32_t>(subgraph.tensors_.size() - 1);
}

std::int32_t FileBuilder::tensor(SubgraphId to, std::uint32_t from, std::uint32_t number) {
  const std::pair key(from, number);
  const auto known = subgraphs_[to].numbers_.find(key);
  if (known != subgraphs_[to].numbers_.end()) return known->second;
  const std::string_view name = source_.subgraphs[from].tensors[number].name;
  const std::int32_t made = add_named_tensor(to, from, number, name);
  subgraphs_[to].numbers_.emplace(key, made);
  return made;
}

void FileBuilder::set_same(SubgraphId to, std::uint32_t of, std::uint32_t same) {
  const std::int32_t number = tensor(to, source_.main, same);
  subgraphs_[to].numbers_.emplace(std::pair(source_.main, of), number);
}

std::vector<std::int32_t> FileBuilder::numbers_of(SubgraphId to, std::uint32_t from,
                                                  const FlatInts& tensors) {
  const bool is_main = from == source_.main;
  std::vector<std::int32_t> numbers;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] < 0) {
      numbers.push_back(-1);
      continue;
    }
    const auto named = static_cast<std::uint32_t>(tensors[i]);
    numbers.push_back(tensor(to, from, is_main ? source_.state.read_as[named] : named));
  }
  return numbers;
}

std::int32_t FileBuilder::body(std::uint32_t subgraph) {
  std::uint32_t& number = body_numbers_[subgraph];
  if (number == kNoTflite) {
    number =
        add_subgraph(std::string(source_.subgraphs[subgraph].table.bytes(tfl::subgraph::name)));
    open_bodies_.push_back(subgraph);
  }
  return static_cast<std::int32_t>(number);
}

// The options with the numbers that bodies have here.
OutTable FileBuilder::options_of(const TfliteOperator& op, const std::vector<TfliteBody>& bodies) {
  OutTable options(op.options);
  std::map<SchemaFieldId, std::vector<std::int32_t>> lists;
  for (const TfliteBody& called : bodies) {
    const std::int32_t number = body(static_cast<std::uint32_t>(called.subgraph));
    if (!kSchemaFields[called.field].is_vector) {
      options.set(called.field, std::int64_t{number});
      continue;
    }
    std::vector<std::int32_t>& list = lists[called.field];
    const FlatInts stored = op.options.ints(called.field);
    for (auto i = static_cast<std::uint32_t>(list.size()); i < stored.size(); ++i) {
      list.push_back(stored[i]);
    }
    list[called.element] = number;
  }
  for (auto& [field, list] : lists) options.set(field, std::move(list));
  return options;
}

OutTable FileBuilder::operator_table(SubgraphId to, std::uint32_t from, const TfliteOperator& op) {
  OutTable table(op.table);
  table.set(tfl::op::opcode_index, code(op.code));
  table.set(tfl::op::inputs, numbers_of(to, from, op.inputs));
  table.set(tfl::op::outputs, numbers_of(to, from, op.outputs));
  if (op.table.has(tfl::op::intermediates)) {
    table.set(tfl::op::intermediates, numbers_of(to, from, op.table.ints(tfl::op::intermediates)));
  }
  table.drop(tfl::op::debug_metadata);
  const TfliteBytes custom{
      static_cast<std::uint64_t>(op.table.integer(tfl::op::large_custom_options_offset)),
      static_cast<std::uint64_t>(op.table.integer(tfl::op::large_custom_options_size))};
  if (custom.offset > 1 && custom.size > 0) table.set(tfl::op::custom_options, custom);
  table.drop(tfl::op::large_custom_options_offset);
  table.drop(tfl::op::large_custom_options_size);
  if (const std::vector<TfliteBody> bodies = bodies_of(op); !bodies.empty()) {
    const bool is_first = op.table.tag(tfl::op::builtin_options) != 0;
    table.set(is_first ? tfl::op::builtin_options : tfl::op::builtin_options_2,
              options_of(op, bodies));
  }
  return table;
}

void FileBuilder::add_operator(SubgraphId to, std::uint32_t from, std::uint32_t number,
                               const BodyFilter& filter) {
  OutTable table = operator_table(to, from, source_.subgraphs[from].operators[number]);
  subgraphs_[to].operators_.push_back(std::move(table));
  fill_bodies(filter);
}

void FileBuilder::fill_bodies(const BodyFilter& filter) {
  std::vector<std::uint32_t> filtered;
  while (!open_bodies_.empty()) {
    const std::uint32_t from = open_bodies_.back();
    open_bodies_.pop_back();
    const SubgraphId to = body_numbers_[from];
    if (filter) filtered.push_back(from);
    const TfliteSubgraph& body = source_.subgraphs[from];
    std::vector<std::int32_t> inputs = numbers_of(to, from, body.inputs);
    subgraphs_[to].inputs_ = std::move(inputs);
    for (const TfliteOperator& op : body.operators) {
      if (filter && !filter(from, op)) continue;
      OutTable table = operator_table(to, from, op);
      subgraphs_[to].operators_.push_back(std::move(table));
    }
    std::vector<std::int32_t> outputs = numbers_of(to, from, body.outputs);
    subgraphs_[to].outputs_ = std::move(outputs);
  }
  for (const std::uint32_t from : filtered) body_numbers_[from] = kNoTflite;
}

void FileBuilder::add_composite(SubgraphId to, SubgraphId part, const std::string& name,
                                std::vector<std::int32_t> inputs,
                                std::vector<std::int32_t> outputs) {
  if (composite_code_ < 0) {
    composite_code_ = static_cast<std::int64_t>(codes_.size());
    OutTable made(schema_table("OperatorCode"));
    made.set(tfl::code::deprecated_builtin_code, kPlaceholder);
    made.set(tfl::code::builtin_code, std::int64_t{kComposite});
    made.set(tfl::code::version, std::int64_t{1});
    codes_.push_back(std::move(made));
  }
  OutTable options(schema_table("StableHLOCompositeOptions"));
  options.set(tfl::composite::name, std::string_view(name));
  options.set(tfl::composite::subgraph, std::int64_t{part});
  options.set(tfl::composite::attributes, kEmptyMap);
  options.set(tfl::composite::version, std::int64_t{1});
  OutTable op(schema_table("Operator"));
  op.set(tfl::op::opcode_index, composite_code_);
  op.set(tfl::op::inputs, std::move(inputs));
  op.set(tfl::op::outputs, std::move(outputs));
  op.set(tfl::op::builtin_options_2, std::move(options));
  subgraphs_[to].operators_.push_back(std::move(op));
}

void FileBuilder::add_input(SubgraphId to, std::int32_t tensor, std::string_view name) {
  subgraphs_[to].inputs_.push_back(tensor);
  subgraphs_[to].input_names_.emplace_back(name, tensor);
}

void FileBuilder::add_output(SubgraphId to, std::int32_t tensor, std::string_view name) {
  subgraphs_[to].outputs_.push_back(tensor);
  subgraphs_[to].output_names_.emplace_back(name, tensor);
}

void FileBuilder::add_signature(SubgraphId of, std::string_view key) {
  const auto maps_of = [](const std::vector<std::pair<std::string, std::int32_t>>& names) {
    std::vector<OutTable> maps;
    for (const auto& [name, tensor] : names) {
      OutTable map(schema_table("TensorMap"));
      map.set(tfl::signature::tensor_name, std::string_view(name));
      map.set(tfl::signature::tensor_index, std::int64_t{tensor});
      maps.push_back(std::move(map));
    }
    return maps;
  };
  OutTable signature(schema_table("SignatureDef"));
  signature.set(tfl::signature::inputs, maps_of(subgraphs_[of].input_names_));
  signature.set(tfl::signature::outputs, maps_of(subgraphs_[of].output_names_));
  signature.set(tfl::signature::key, key);
  signature.set(tfl::signature::subgraph_index, std::int64_t{of});
  signatures_.push_back(std::move(signature));
}

// What runtimes read. Other metadata describes the whole model: labels of its inputs, places in the
// memory of tensors by their old numbers.
void FileBuilder::add_metadata() {
  const FlatTables all = source_.walk.root.tables(tfl::model::metadata);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (name_of(all[i]) != "min_runtime_version" &&
        name_of(all[i]) != "reduced_precision_support") {
      continue;
    }
    OutTable table(all[i]);
    table.set(tfl::metadata::buffer,
              buffer(static_cast<std::uint32_t>(all[i].integer(tfl::metadata::buffer))));
    metadata_.push_back(std::move(table));
  }
}

OutTable FileBuilder::finish() && {
  add_metadata();
  std::vector<OutTable> subgraphs;
  for (OutSubgraph& one : subgraphs_) {
    OutTable table(schema_table("SubGraph"));
    table.set(tfl::subgraph::name, std::string_view(one.name_));
    table.set(tfl::subgraph::tensors, std::move(one.tensors_));
    table.set(tfl::subgraph::inputs, std::move(one.inputs_));
    table.set(tfl::subgraph::outputs, std::move(one.outputs_));
    table.set(tfl::subgraph::operators, std::move(one.operators_));
    subgraphs.push_back(std::move(table));
  }
  OutTable model(schema_table("Model"));
  model.set(tfl::model::version, std::int64_t{3});
  model.set(tfl::model::operator_codes, std::move(codes_));
  model.set(tfl::model::subgraphs, std::move(subgraphs));
  model.set(tfl::model::description, std::string_view(description_));
  model.set(tfl::model::buffers, std::move(buffers_));
  if (!metadata_.empty()) model.set(tfl::model::metadata, std::move(metadata_));
  if (!signatures_.empty()) model.set(tfl::model::signature_defs, std::move(signatures_));
  return model;
}

namespace {

using SubgraphId = FileBuilder::SubgraphId;
constexpr std::string_view kKey = "serving_default";

std::uint32_t number(std::int32_t tensor) { return static_cast<std::uint32_t>(tensor); }

std::pair<std::string_view, std::string_view> variable_of(const TfliteOperator& handle) {
  return {handle.options.bytes(tfl::variable::container),
          handle.options.bytes(tfl::variable::shared_name)};
}

// Sets up, reads and writes variables inside a subgraph, as the model's operators do.
class VariableOperators {
 public:
  VariableOperators(FileBuilder& builder, const TfliteModel& model, SubgraphId to,
                    const std::vector<std::uint32_t>& variables)
      : builder_(builder), model_(model), to_(to), variables_(variables) {
    for (const std::uint32_t v : variables) {
      const TfliteVariable& variable = model.state.variables[v];
      names_.emplace(variable.container, variable.shared_name);
    }
  }

  // The calls that set variables up once, their handles and the reads.
  void begin() {
    std::set<std::uint32_t> calls;
    for (const std::uint32_t v : variables_) {
      const std::uint32_t call = model_.state.variables[v].init_call;
      if (call != kNoTflite) calls.insert(call);
    }
    for (const std::uint32_t call : calls) {
      builder_.add_operator(to_, model_.main, call,
                            [this](std::uint32_t subgraph, const TfliteOperator& op) {
                              return is_of_these(subgraph, op);
                            });
    }
    for (const std::uint32_t v : variables_) {
      const TfliteVariable& variable = model_.state.variables[v];
      builder_.add_operator(to_, model_.main, variable.handle);
      if (variable.read != kNoTflite) add(variable.read, v);
    }
  }

  void end() {
    for (const std::uint32_t v : variables_) {
      if (model_.state.variables[v].assign != kNoTflite) add(model_.state.variables[v].assign, v);
    }
  }

 private:
  // A variable may have several handles; here all are the one that was added.
  void add(std::uint32_t op, std::uint32_t v) {
    const TfliteSubgraph& graph = model_.subgraph();
    const std::uint32_t handle = model_.state.variables[v].handle;
    builder_.set_same(to_, number(graph.operators[op].inputs[0]),
                      number(graph.operators[handle].outputs[0]));
    builder_.add_operator(to_, model_.main, op);
  }

  // An operator of a subgraph that sets variables up: only those that concern these variables.
  bool is_of_these(std::uint32_t subgraph, const TfliteOperator& op) const {
    const TfliteSubgraph& graph = model_.subgraphs[subgraph];
    if (model_.is_builtin(op, schema_operator("VAR_HANDLE")))
      return names_.contains(variable_of(op));
    if (!model_.is_builtin(op, schema_operator("ASSIGN_VARIABLE"))) return true;
    const std::uint32_t maker = graph.tensors[number(op.inputs[0])].maker;
    return maker == kNoTflite || names_.contains(variable_of(graph.operators[maker]));
  }

  FileBuilder& builder_;
  const TfliteModel& model_;
  SubgraphId to_;
  const std::vector<std::uint32_t>& variables_;
  std::set<std::pair<std::string_view, std::string_view>> names_;
};

void fill_part(FileBuilder& builder, const TfliteModel& model, SubgraphId to,
               const TflitePart& part) {
  const std::vector<TfliteTensor>& tensors = model.subgraph().tensors;
  for (const std::uint32_t tensor : part.inputs) {
    builder.add_input(to, builder.tensor(to, model.main, tensor), tensors[tensor].name);
  }
  VariableOperators variables(builder, model, to, part.variables);
  variables.begin();
  for (const std::uint32_t op : part.operators) builder.add_operator(to, model.main, op);
  variables.end();
  for (const std::uint32_t tensor : part.outputs) {
    builder.add_output(to, builder.tensor(to, model.main, tensor), tensors[tensor].name);
  }
}

class RootMaker {
 public:
  RootMaker(const TfliteModel& model, const TflitePlan& plan, const std::string& description)
      : model_(model), graph_(model.subgraph()), plan_(plan), builder_(model, description) {}

  OutTable make(const std::vector<std::string>& names) {
    main_ = builder_.add_subgraph("main");
    std::vector<SubgraphId> parts;
    for (const TflitePart& part : plan_.parts) {
      const bool is_called = can_be_composite(model_, part);
      parts.push_back(is_called ? builder_.add_subgraph(names[index(part.part)]) : main_);
    }
    add_inputs();
    std::vector<std::uint32_t> all;
    for (std::uint32_t v = 0; v < model_.state.variables.size(); ++v) all.push_back(v);
    VariableOperators variables(builder_, model_, main_, all);
    variables.begin();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == main_) {
        add_inside(plan_.parts[i]);
        continue;
      }
      fill_part(builder_, model_, parts[i], plan_.parts[i]);
      builder_.add_composite(main_, parts[i], "cleave." + names[index(plan_.parts[i].part)],
                             numbers_of(plan_.parts[i].inputs), numbers_of(plan_.parts[i].outputs));
    }
    variables.end();
    add_outputs();
    const std::string_view key = model_.signature.bytes(tfl::signature::key);
    builder_.add_signature(main_, key.empty() ? kKey : key);
    return std::move(builder_).finish();
  }

 private:
  // Adds the partition's operators to the main subgraph; constants of several partitions once.
  void add_inside(const TflitePart& part) {
    for (const std::uint32_t op : part.operators) {
      if (added_.insert(op).second) builder_.add_operator(main_, model_.main, op);
    }
  }

  std::vector<std::int32_t> numbers_of(const std::vector<std::uint32_t>& tensors) {
    std::vector<std::int32_t> numbers;
    for (const std::uint32_t tensor : tensors) {
      numbers.push_back(builder_.tensor(main_, model_.main, tensor));
    }
    return numbers;
  }

  // The name that the model's signature has for the tensor, else its own.
  std::string_view name_of(std::uint32_t tensor, SchemaFieldId list) const {
    const FlatTables maps = model_.signature.tables(list);
    for (std::uint32_t i = 0; i < maps.size(); ++i) {
      if (maps[i].integer(tfl::signature::tensor_index) == tensor) {
        return maps[i].bytes(tfl::signature::tensor_name);
      }
    }
    return graph_.tensors[tensor].name;
  }

  void add_inputs() {
    for (std::uint32_t k = 0; k < graph_.inputs.size(); ++k) {
      const std::uint32_t tensor = number(graph_.inputs[k]);
      builder_.add_input(main_, builder_.tensor(main_, model_.main, tensor),
                         name_of(tensor, tfl::signature::inputs));
    }
  }

  void add_outputs() {
    for (std::uint32_t k = 0; k < graph_.outputs.size(); ++k) {
      const std::uint32_t named = number(graph_.outputs[k]);
      builder_.add_output(main_, builder_.tensor(main_, model_.main, model_.state.read_as[named]),
                          name_of(named, tfl::signature::outputs));
    }
  }

  const TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const TflitePlan& plan_;
  FileBuilder builder_;
  SubgraphId main_ = 0;
  std::set<std::uint32_t> added_;  // operators that are in the main subgraph
};

}  // namespace

OutTable tflite_part(const TfliteModel& model, const TflitePart& part, const std::string& name,
                     const std::string& description) {
  FileBuilder builder(model, description);
  const SubgraphId main = builder.add_subgraph(name);
  fill_part(builder, model, main, part);
  builder.add_signature(main, kKey);
  return std::move(builder).finish();
}

bool can_be_composite(const TfliteModel& model, const TflitePart& part) {
  const TfliteSubgraph& graph = model.subgraph();
  if (part.inputs.empty() || part.outputs.empty()) return false;
  for (const std::uint32_t tensor : part.outputs) {
    const std::uint32_t maker = graph.tensors[tensor].maker;
    if (maker == kNoTflite || model.is_constant[maker] != 0) return false;
  }
  const std::vector<std::uint32_t>& whole = model.state.whole;  // sorted
  return std::none_of(part.operators.begin(), part.operators.end(), [&](std::uint32_t op) {
    if (model.is_builtin(graph.operators[op], schema_operator("SHAPE")) ||
        model.is_builtin(graph.operators[op], schema_operator("RANK"))) {
      return true;
    }
    const FlatInts& inputs = graph.operators[op].inputs;
    for (std::uint32_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] >= 0 && graph.tensors[number(inputs[k])].is_variable) return true;
    }
    return std::binary_search(whole.begin(), whole.end(), op);
  });
}

OutTable tflite_root(const TfliteModel& model, const TflitePlan& plan,
                     const std::vector<std::string>& names, const std::string& description) {
  return RootMaker(model, plan, description).make(names);
}

std::vector<std::uint32_t> variables_with_start(const TfliteModel& model,
                                                const std::vector<std::uint32_t>& variables) {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t v : variables) {
    const TfliteVariable& variable = model.state.variables[v];
    if (variable.init_call != kNoTflite && variable.read != kNoTflite) found.push_back(v);
  }
  return found;
}

namespace {

void fill_init(FileBuilder& builder, const TfliteModel& model, SubgraphId to,
               const std::vector<std::uint32_t>& variables) {
  std::set<std::uint32_t> added;  // subgraphs whose other operators are there
  for (const std::uint32_t v : variables) {
    const TfliteVariable& variable = model.state.variables[v];
    const TfliteOperator& call = model.subgraph().operators[variable.init_call];
    const auto from = static_cast<std::uint32_t>(bodies_of(call).front().subgraph);
    const TfliteSubgraph& graph = model.subgraphs[from];
    if (added.insert(from).second) {
      for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
        const TfliteOperator& op = graph.operators[i];
        const bool is_of_variable = model.is_builtin(op, schema_operator("VAR_HANDLE")) ||
                                    model.is_builtin(op, schema_operator("ASSIGN_VARIABLE"));
        if (!is_of_variable) builder.add_operator(to, from, i);
      }
    }
    const std::uint32_t value = number(graph.operators[variable.init_assign].inputs[1]);
    const std::int32_t tensor = graph.tensors[value].maker == kNoTflite
                                    ? builder.add_named_tensor(to, from, value, variable.name)
                                    : builder.tensor(to, from, value);
    builder.add_output(to, tensor, variable.name);
  }
}

}  // namespace

OutTable tflite_init(const TfliteModel& model, const std::vector<std::uint32_t>& variables,
                     const std::string& description) {
  FileBuilder builder(model, description);
  const SubgraphId main = builder.add_subgraph("init");
  fill_init(builder, model, main, variables);
  builder.add_signature(main, kKey);
  return std::move(builder).finish();
}

OutTable tflite_bundle(const TfliteModel& model, const TflitePlan& plan,
                       const std::vector<std::string>& names, const TfliteInit& init,
                       const std::string& description) {
  FileBuilder builder(model, description);
  for (const TflitePart& part : plan.parts) {
    const std::string& name = names[index(part.part)];
    const SubgraphId to = builder.add_subgraph(name);
    fill_part(builder, model, to, part);
    builder.add_signature(to, name);
  }
  if (!init.variables.empty()) {
    const SubgraphId to = builder.add_subgraph(init.signature);
    fill_init(builder, model, to, init.variables);
    builder.add_signature(to, init.signature);
  }
  return std::move(builder).finish();
}

}  // namespace cleave
