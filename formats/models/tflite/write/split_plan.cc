#include "formats/models/tflite/write/split_plan.h"

#include <algorithm>
#include <utility>

#include "core/split/node_ties.h"
#include "formats/base/json/text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/reader.h"
#include "formats/models/tflite/state.h"
#include "formats/models/tflite/tensor_type.h"

namespace cleave {

// Steps: which partition makes and reads each tensor; which variables stay in one partition; then
// each partition's operators, inputs and outputs.

namespace {

constexpr std::uint32_t kNowhere = 0xffffffff;
constexpr std::uint32_t kMany = 0xfffffffe;

class SplitPlanner {
 public:
  SplitPlanner(const TfliteModel& model, const Partition& partition)
      : model_(model), graph_(model.subgraph()), partition_(partition) {}

  Result<TflitePlan> plan(TfliteLift lift) {
    find_places();
    find_readers();
    find_state(lift);
    std::vector<std::vector<std::uint32_t>> operators(partition_.count());
    for (std::uint32_t i = 0; i < part_of_.size(); ++i) {
      if (part_of_[i] != kNowhere) operators[part_of_[i]].push_back(i);
    }
    seen_.assign(graph_.tensors.size(), kNowhere);
    pulled_.assign(graph_.operators.size(), kNowhere);
    for (const PartId part : partition_.parts()) {
      plan_.parts.push_back({.part = part,
                             .operators = std::move(operators[index(part)]),
                             .inputs = {},
                             .outputs = {},
                             .variables = std::move(native_[index(part)])});
      fill(plan_.parts.back());
    }
    if (!fault_.empty()) return Error{.message = fault_};
    return std::move(plan_);
  }

 private:
  static std::uint32_t number(std::int32_t tensor) { return static_cast<std::uint32_t>(tensor); }

  void each_read(const TfliteOperator& op, const auto& visit) const {
    for (std::uint32_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] >= 0) visit(model_.state.read_as[number(op.inputs[k])]);
    }
  }
  // Whether an operator that is a node or a constant makes the tensor.
  bool is_made(std::uint32_t tensor) const {
    const std::uint32_t maker = graph_.tensors[tensor].maker;
    return maker != kNoTflite && model_.state.is_hidden[maker] == 0;
  }
  bool is_constant(std::uint32_t tensor) const {
    const std::uint32_t maker = graph_.tensors[tensor].maker;
    return maker == kNoTflite ? is_stored(graph_.tensors[tensor]) : model_.is_constant[maker] != 0;
  }
  // The partition that makes the tensor.
  std::uint32_t home_of(std::uint32_t tensor) const {
    return is_made(tensor) ? part_of_[graph_.tensors[tensor].maker] : kNowhere;
  }

  void find_places() {
    part_of_.assign(graph_.operators.size(), kNowhere);
    for (const PartId part : partition_.parts()) {
      for (const NodeId node : partition_.nodes(part)) {
        part_of_[model_.operators[index(node)]] = index(part);
      }
    }
  }

  // By tensor: the partition that reads it, or kMany. What the model gives out is read by many, as is
  // what nodes outside of all partitions read.
  void find_readers() {
    reader_.assign(graph_.tensors.size(), kNowhere);
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      if (model_.state.is_hidden[i] != 0 || model_.is_constant[i] != 0) continue;
      const std::uint32_t reader = part_of_[i] == kNowhere ? kMany : part_of_[i];
      covers_all_ = covers_all_ && reader != kMany;
      each_read(graph_.operators[i], [&](std::uint32_t tensor) { add_reader(tensor, reader); });
    }
    output_place_.assign(graph_.tensors.size(), kNoTflite);
    for (std::uint32_t k = graph_.outputs.size(); k-- > 0;) {
      const std::uint32_t tensor = model_.state.read_as[number(graph_.outputs[k])];
      add_reader(tensor, kMany);
      output_place_[tensor] = k;
    }
  }
  void add_reader(std::uint32_t tensor, std::uint32_t part) {
    reader_[tensor] = reader_[tensor] == kNowhere || reader_[tensor] == part ? part : kMany;
  }

  void find_state(TfliteLift lift) {
    const std::vector<TfliteVariable>& variables = model_.state.variables;
    native_.resize(partition_.count());
    plan_.is_native.assign(variables.size(), 0);
    std::vector<std::uint8_t> is_moved(graph_.tensors.size(), 0);  // from one variable to another
    for (const TfliteVariable& variable : variables) {
      if (variable.newest != kNoTflite) is_moved[variable.newest] = 1;
    }
    for (std::uint32_t v = 0; v < variables.size(); ++v) {
      const TfliteVariable& variable = variables[v];
      const std::uint32_t home = home_of_variable(variable, is_moved);
      if (home != kNowhere && lift != TfliteLift::all) {
        plan_.is_native[v] = 1;
        native_[home].push_back(v);
        continue;
      }
      plan_.lifted.push_back(v);
      if (variable.newest != kNoTflite) add_reader(variable.newest, kMany);
    }
  }

  // The only partition that has to do with the variable; kNowhere: there is none.
  std::uint32_t home_of_variable(const TfliteVariable& variable,
                                 const std::vector<std::uint8_t>& is_moved) const {
    std::uint32_t home = kNowhere;
    if (variable.read != kNoTflite) {
      home = reader_[variable.value];
      if (is_moved[variable.value] != 0 || home == kMany) return kNowhere;
    }
    if (variable.newest == kNoTflite) return home;
    const std::uint32_t maker = home_of(variable.newest);
    if (maker == kNowhere || is_constant(variable.newest)) return kNowhere;
    return home == kNowhere || home == maker ? maker : kNowhere;
  }

  void fill(TflitePart& part) {
    const std::uint32_t here = index(part.part);
    std::vector<std::uint32_t> open;  // constant operators to be copied
    const auto need = [&](std::uint32_t tensor) {
      const std::uint32_t maker = graph_.tensors[tensor].maker;
      if (maker == kNoTflite || model_.is_constant[maker] == 0) return;
      if (std::exchange(pulled_[maker], here) != here) open.push_back(maker);
    };
    for (const std::uint32_t op : part.operators) each_read(graph_.operators[op], need);
    add_outputs(part, here, need);
    for (std::size_t i = 0; i < open.size(); ++i) each_read(graph_.operators[open[i]], need);
    part.operators.insert(part.operators.end(), open.begin(), open.end());
    std::sort(part.operators.begin(), part.operators.end());
    add_inputs(part, here);
  }

  void add_outputs(TflitePart& part, std::uint32_t here, const auto& need) {
    for (const std::uint32_t op : part.operators) {
      const FlatInts& outputs = graph_.operators[op].outputs;
      for (std::uint32_t k = 0; k < outputs.size(); ++k) {
        const std::uint32_t tensor = number(outputs[k]);
        if (reader_[tensor] != kNowhere && reader_[tensor] != here) add_output(part, tensor);
      }
    }
    if (covers_all_ && here + 1 == partition_.count()) add_constant_outputs(part, need);
    std::sort(part.outputs.begin(), part.outputs.end(), [this](std::uint32_t a, std::uint32_t b) {
      return std::pair(output_place_[a], a) < std::pair(output_place_[b], b);
    });
    part.outputs.erase(std::unique(part.outputs.begin(), part.outputs.end()), part.outputs.end());
  }

  void add_output(TflitePart& part, std::uint32_t tensor) {
    check_crossing(part, tensor);
    part.outputs.push_back(tensor);
  }

  // Constants that the model gives out, or keeps: the last partition has them.
  void add_constant_outputs(TflitePart& part, const auto& need) {
    const auto add = [&](std::uint32_t tensor) {
      if (!is_constant(tensor)) return;
      need(tensor);
      part.outputs.push_back(tensor);
    };
    for (std::uint32_t k = 0; k < graph_.outputs.size(); ++k) {
      add(model_.state.read_as[number(graph_.outputs[k])]);
    }
    for (const std::uint32_t v : plan_.lifted) {
      const TfliteVariable& variable = model_.state.variables[v];
      if (variable.newest != kNoTflite) add(variable.newest);
    }
  }

  void add_inputs(TflitePart& part, std::uint32_t here) {
    for (const std::uint32_t v : part.variables) {
      const TfliteVariable& variable = model_.state.variables[v];
      if (variable.read != kNoTflite) seen_[variable.value] = here;
    }
    std::vector<std::uint32_t> made;
    for (const std::uint32_t op : part.operators) {
      each_read(graph_.operators[op], [&](std::uint32_t tensor) {
        if (is_constant(tensor) || home_of(tensor) == here) return;
        if (model_.values[tensor] == kNone<ValueId>) return;  // memory to work in
        if (graph_.tensors[tensor].is_variable && !graph_.tensors[tensor].is_input) return;
        if (std::exchange(seen_[tensor], here) == here) return;
        check_crossing(part, tensor);
        (graph_.tensors[tensor].is_input ? part.inputs : made).push_back(tensor);
      });
    }
    std::sort(made.begin(), made.end());
    order_inputs(part.inputs);
    part.inputs.insert(part.inputs.end(), made.begin(), made.end());
  }

  // As the model lists them.
  void order_inputs(std::vector<std::uint32_t>& inputs) {
    if (place_.empty()) {
      place_.assign(graph_.tensors.size(), kNowhere);
      for (std::uint32_t k = graph_.inputs.size(); k-- > 0;) place_[number(graph_.inputs[k])] = k;
    }
    std::sort(inputs.begin(), inputs.end(),
              [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; });
  }

  void check_crossing(const TflitePart& part, std::uint32_t tensor) {
    if (is_tensor_type(graph_.tensors[tensor].type) || !fault_.empty()) return;
    fault_ = "partition " + escaped_in_quotes(partition_.name(part.part)) + " and another share " +
             escaped_in_quotes(graph_.tensors[tensor].name) +
             ", the handle of a resource: handles cannot cross";
  }

  const TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const Partition& partition_;
  TflitePlan plan_;
  std::vector<std::uint32_t> part_of_;              // by operator
  std::vector<std::uint32_t> reader_;               // by tensor
  std::vector<std::vector<std::uint32_t>> native_;  // by partition
  std::vector<std::uint32_t> seen_, pulled_;        // by tensor, operator: the partition met last
  std::vector<std::uint32_t> place_;                // by tensor: among the model's inputs
  std::vector<std::uint32_t> output_place_;         // by tensor: among its outputs
  bool covers_all_ = true;                          // the partitions have all nodes
  std::string fault_;
};

// The packing of weights in other files that are in a form of their own; empty: none are.
std::string_view packing_of(const TfliteModel& model) {
  for (const TfliteSubgraph& graph : model.subgraphs) {
    for (const TfliteTensor& tensor : graph.tensors) {
      if (tensor.external == 0) continue;
      const std::string_view packing = model.external.at(tensor.external).packing;
      if (!packing.empty()) return packing;
    }
  }
  return {};
}

}  // namespace

Result<TflitePlan> plan_tflite_split(const TfliteModel& model, const Graph& graph,
                                     const Partition& partition, TfliteLift lift) {
  if (const std::string_view packing = packing_of(model); !packing.empty()) {
    return Error{.message = "keeps weights in other files in the packing " +
                            escaped_in_quotes(packing) + ", which cleave does not know"};
  }
  if (auto whole = check_whole(graph, partition, tflite_ties(model)); !whole) return whole.error();
  return SplitPlanner(model, partition).plan(lift);
}

namespace {

using Layout = JsonText::Layout;

class ChainWriter {
 public:
  ChainWriter(const TfliteModel& model, const TflitePlan& plan, const TfliteChainNames& names)
      : model_(model), graph_(model.subgraph()), plan_(plan), names_(names) {}

  std::string write() {
    json_.begin_object();
    json_.begin_list("order");
    for (const TflitePart& part : plan_.parts) write_part(part);
    json_.end_list();
    write_own("inputs", graph_.inputs);
    write_own("outputs", graph_.outputs);
    write_state();
    write_init();
    write_signature();
    write_open();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  std::string_view name_of(std::uint32_t tensor) const { return graph_.tensors[tensor].name; }
  std::string_view own_name(std::int64_t tensor) const {
    return name_of(model_.state.read_as[static_cast<std::size_t>(tensor)]);
  }

  void write_values(std::string_view key, const std::vector<std::uint32_t>& tensors) {
    json_.begin_list(key, Layout::one_line);
    for (const std::uint32_t tensor : tensors) json_.text(name_of(tensor));
    json_.end_list();
  }

  void write_part(const TflitePart& part) {
    const std::size_t number = index(part.part);
    json_.begin_object();
    json_.text("name", names_.names[number]);
    json_.text("file", names_.files[number]);
    if (names_.is_bundle) json_.text("model", names_.names[number]);
    write_values("inputs", part.inputs);
    write_values("outputs", part.outputs);
    write_values("writes_inputs", {});
    write_values("repeated", {});
    json_.begin_list("variables", Layout::one_line);
    for (const std::uint32_t v : part.variables) json_.text(target_of(v));
    json_.end_list();
    json_.end_object();
  }

  void write_own(std::string_view key, const FlatInts& tensors) {
    json_.begin_list(key, Layout::one_line);
    for (std::uint32_t i = 0; i < tensors.size(); ++i) json_.text(own_name(tensors[i]));
    json_.end_list();
  }

  std::string target_of(std::uint32_t v) const {
    const TfliteVariable& variable = model_.state.variables[v];
    if (variable.container.empty()) return std::string(variable.shared_name);
    return std::string(variable.container) + "/" + std::string(variable.shared_name);
  }

  void write_state() {
    json_.begin_list("state");
    for (const std::uint32_t v : plan_.lifted) {
      if (model_.state.variables[v].read == kNoTflite) continue;
      json_.begin_object(Layout::one_line);
      json_.text("name", model_.state.variables[v].name);
      json_.text("kind", "variable");
      json_.text("target", target_of(v));
      json_.end_object();
    }
    json_.end_list();
    json_.begin_list("mutations");
    for (const std::uint32_t v : plan_.lifted) {
      if (model_.state.variables[v].newest == kNoTflite) continue;
      json_.begin_object(Layout::one_line);
      json_.text("kind", "variable");
      json_.text("target", target_of(v));
      json_.text("value", name_of(model_.state.variables[v].newest));
      json_.end_object();
    }
    json_.end_list();
  }

  void write_init() {
    const TfliteInit& init = names_.init;
    if (init.file.empty()) return;
    json_.begin_object("init");
    json_.text("file", init.file);
    if (!init.signature.empty()) json_.text("model", init.signature);
    json_.begin_list("outputs", Layout::one_line);
    for (const std::uint32_t v : init.variables) json_.text(model_.state.variables[v].name);
    json_.end_list();
    json_.end_object();
  }

  void write_signature() {
    if (model_.signature.is_absent()) return;
    json_.begin_object("signature");
    json_.text("key", model_.signature.bytes(tfl::signature::key));
    write_names("inputs", model_.signature.tables(tfl::signature::inputs));
    write_names("outputs", model_.signature.tables(tfl::signature::outputs));
    json_.end_object();
  }

  void write_names(std::string_view key, const FlatTables& maps) {
    json_.begin_list(key);
    for (std::uint32_t i = 0; i < maps.size(); ++i) {
      const std::int64_t tensor = maps[i].integer(tfl::signature::tensor_index);
      if (static_cast<std::uint64_t>(tensor) >= graph_.tensors.size()) continue;
      json_.begin_object(Layout::one_line);
      json_.text("name", maps[i].bytes(tfl::signature::tensor_name));
      json_.text("value", own_name(tensor));
      json_.end_object();
    }
    json_.end_list();
  }

  // Whether it has a dim that the file and the options leave open.
  static bool is_open(const TfliteTensor& tensor) {
    const auto is_free = [](std::int32_t size) { return size < 0; };
    if (!tensor.bound.empty()) {
      return std::any_of(tensor.bound.begin(), tensor.bound.end(), is_free);
    }
    const FlatInts signature = tensor.table.ints(tfl::tensor::signature);
    bool is_any = false;
    for (std::uint32_t i = 0; i < signature.size(); ++i) is_any = is_any || is_free(signature[i]);
    return is_any;
  }

  void write_open() {
    std::vector<std::uint32_t> open;
    for (const TflitePart& part : plan_.parts) {
      for (const std::uint32_t tensor : part.inputs) {
        if (is_open(graph_.tensors[tensor])) open.push_back(tensor);
      }
    }
    std::sort(open.begin(), open.end());
    open.erase(std::unique(open.begin(), open.end()), open.end());
    write_values("open", open);
  }

  const TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const TflitePlan& plan_;
  const TfliteChainNames& names_;
  JsonText json_;
};

}  // namespace

std::string tflite_chain_json(const TfliteModel& model, const TflitePlan& plan,
                              const TfliteChainNames& names) {
  return ChainWriter(model, plan, names).write();
}

}  // namespace cleave
