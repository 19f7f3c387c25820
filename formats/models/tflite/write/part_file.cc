#include "formats/models/tflite/write/part_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "formats/models/tflite/fields.h"

namespace cleave {
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

OutTable tflite_init(const TfliteModel& model, const std::vector<std::uint32_t>& variables,
                     const std::string& description) {
  FileBuilder builder(model, description);
  const SubgraphId main = builder.add_subgraph("init");
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
        if (!is_of_variable) builder.add_operator(main, from, i);
      }
    }
    const std::uint32_t value = number(graph.operators[variable.init_assign].inputs[1]);
    const std::int32_t tensor = graph.tensors[value].maker == kNoTflite
                                    ? builder.add_named_tensor(main, from, value, variable.name)
                                    : builder.tensor(main, from, value);
    builder.add_output(main, tensor, variable.name);
  }
  builder.add_signature(main, kKey);
  return std::move(builder).finish();
}

}  // namespace cleave
