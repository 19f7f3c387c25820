#include "formats/models/tflite/state.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "formats/models/tflite/fields.h"

namespace cleave {
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
  return std::any_of(codes.begin(), codes.end(),
                     [&](std::uint32_t code) { return model.is_builtin(op, code); });
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
      const bool has_state = std::any_of(bodies.begin(), bodies.end(), [&](const TfliteBody& body) {
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
    std::sort(state_.whole.begin(), state_.whole.end());
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

}  // namespace cleave
